"""The audit's outside: a server's own figures, SGLang's own sources, and the words.

Owns: reading `/server_info`, reading SGLang's formula from its source, text and JSON of the answer. Does not own: the
arithmetic (`kernels.hicache.audit`), options and exit codes (`harness.cli.audit`). Floor 5.
"""
