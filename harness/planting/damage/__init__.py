"""The damages: each takes a sound turn and gives a damaged one, by chance that a seeded generator decides.

Nothing in this folder imports an oracle, so that an oracle's blind spot cannot hide in the damage that is to show it.
Floor 5.
"""
