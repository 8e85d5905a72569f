"""The nightly stress job: every check inside one time budget, compared with a baseline that never moves by itself.

Owns: configuration, budget, lock, checks, baseline, history, and what a night leaves. Does not own: what a check does
(its own command), the matrix (`harness.search`), statistics (`results`). Floor 5.
"""
