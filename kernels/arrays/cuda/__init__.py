"""Kernels for one CUDA device: index scores, top-k, page copies, page versions. Sources are the `.cu` files here.

Owns: the launches and the rules they share with the NumPy functions beside this folder, which are their references.
Does not own: streams, events, memory pools (`substrate/cuda`). Nothing here imports CuPy on loading. Floor 0.
"""
