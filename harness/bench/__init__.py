"""What this machine can do: floors, kernels, transfers, the window of the race, and the numbers that explain them.

Owns: cases, timing, records. Does not own: the kernels, any target's verdict. Floor 6.
"""
