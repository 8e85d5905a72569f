"""Proof that a fix is one: the incident before and after it, by order, by schedules and by served runs.

Owns: the trial of a fix, its verdict, the figures of what it costs, text and JSON. Does not own: the fixes
(`scenarios/fixes`, `kernels/hicache/remedy.py`), detection and search (`kernels.races`), campaigns. Floor 5.
"""
