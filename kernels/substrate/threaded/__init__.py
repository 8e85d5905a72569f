"""The threaded substrate: one OS thread a stream, NumPy copies in pieces, real torn reads on any CPU. Floor 1.

Owns: memory, lanes and chaos. Does not own: what a host call means (`substrate/real`).
"""
