"""How long a specimen takes.

Owns: the wall clock of this room. Floor 5.
"""

from time import perf_counter


def now_s() -> float:
    return perf_counter()
