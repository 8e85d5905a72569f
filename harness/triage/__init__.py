"""Triage: which of a server's switches makes the corruption go away, and which race classes that speaks for.

Owns: plans, starting and stopping a server by the user's own commands, the order of the arms, what they come to. Does
not own: loading a server (`harness/live`), intervals and tests (`results/stats`). Floor 5. Source: facts/bugs.md
section 5: operators toggle one switch at a time by hand, and hardly ever write down how many runs they needed.
"""
