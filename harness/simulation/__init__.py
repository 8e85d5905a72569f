"""One simulated run from a scenario to a judged run folder.

Owns: putting machine, pair, servers, load and results together. Does not own: any of them, nor the command line.
Floor 5.
"""
