"""The audit of a memory: what a capacity formula grants, what the pools then take, and by how much that is too much.

Owns, one idea a file:
    rules        how versions of SGLang size pools, where they differ
    costs        bytes per full token of each pool: counted, stored, padded
    allocation   the pools of so many tokens, in the order in which SGLang allocates them
    judgement    the two against a memory of so many bytes
Does not own: bytes of a slot or a page (`sizing`), reading servers or sources, text (harness). Floor 2a.
"""
