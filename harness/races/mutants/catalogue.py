"""All mutants of the cache's code, in one list. Floor 5."""

from __future__ import annotations

from harness.races.mutants.backup_mutants import BACKUP_MUTANTS
from harness.races.mutants.code_mutant import CodeMutant
from harness.races.mutants.gate_mutants import GATE_MUTANTS
from harness.races.mutants.load_mutants import LOAD_MUTANTS
from harness.races.mutants.page_mutants import PAGE_MUTANTS

MUTANTS: tuple[CodeMutant, ...] = (*GATE_MUTANTS, *LOAD_MUTANTS, *BACKUP_MUTANTS, *PAGE_MUTANTS)
