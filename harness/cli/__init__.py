"""The command line: commands, progress, exit codes.

Owns: what the user types and sees. Does not own: any work; commands call `simulation`, `search` and `results`.
Floor 5.
"""
