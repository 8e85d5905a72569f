"""The book: all laws, and what breaks any of them.

Owns: the list. Does not own: the laws. Floor 2b.
"""

from __future__ import annotations

from kernels.races.laws.agreement import endings, failures, ranks
from kernels.races.laws.breach import Breach, Law
from kernels.races.laws.companions import companions
from kernels.races.laws.drain import drain
from kernels.races.laws.history import History
from kernels.races.laws.keys import keys, published
from kernels.races.laws.owners import owners
from kernels.races.laws.rows import rows

LAWS: tuple[Law, ...] = (companions, rows, owners, drain, published, keys, ranks, failures, endings)


def breaches(history: History) -> list[Breach]:
    """Everything in this execution that breaks a law, in host issue order."""
    return sorted((breach for law in LAWS for breach in law(history)), key=lambda breach: breach.ordinal)
