"""The zoo: every public KV-cache race whose mechanism is clear, as a small program with its defect behind a switch.

Owns: the specimens, one file each, in the folder of their race class, and what a specimen is. Does not own: judging
them (`harness.zoo`), the laws (`kernels.races.laws`). Floor 4. Source: facts/bugs.md. How to write one: docs/zoo.md.
"""
