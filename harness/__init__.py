"""What drives a machine, simulated or real: configuration, load, servers, simulation, search, command line. Floor 5.

Owns: nothing but the package name. Its process never imports transformers, torch or sglang: see `kernels`.
"""
