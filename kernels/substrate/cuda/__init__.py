"""The CUDA substrate: CuPy streams and events, device memory and pinned host memory, real copies. Floor 1.

Owns: memory, lanes, and what a device needs before any of it works. Does not own: what a host call means
(`substrate/real`), kernels (`kernels/arrays/cuda`). Nothing here imports CuPy on loading.
"""
