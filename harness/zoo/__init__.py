"""The zoo, run: each specimen with its defect, its wrong fixes and its fix, against what is expected.

Owns: judging specimens, the table, the template for a new one. Does not own: specimens (`scenarios.zoo`), detection and
laws (`kernels.races`), the command line. Floor 5.
"""
