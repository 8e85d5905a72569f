"""How sessions behave once they have begun: pauses, warm-up, hanging up, and the order in which their turns are sent.

Owns: nothing itself. Does not own: when sessions begin (`harness/live/arrivals.py`), what they send. Floor 5.
"""
