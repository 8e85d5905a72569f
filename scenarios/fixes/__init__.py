"""Remedies for the incident, right and wrong, and small programs around them.

Owns: the catalogue, programs for `race --program`. Does not own: judging (`harness.remedies`, `kernels.races`).
Floor 4.
"""
