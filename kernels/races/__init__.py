"""Races: detect unordered accesses, name the missing order, show it by a chosen schedule, prove a fix.

Owns: judging order. Does not own: running a machine in time (substrate), scenarios, the command line. Floor 2b: imports
the substrate, arrays and errors only.

For unit tests of a transfer path: write it as a function of a machine (`kernels.substrate.contract`), and
`explore(program).assert_clean()`; docs/races.md has an example.
"""

from kernels.races.detector.detector import Detector
from kernels.races.detector.reading import judge_lines
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.replay import replay
from kernels.races.search.result import Answer, Exploration, RacesFound

__all__ = ["Answer", "Code", "Detector", "Exploration", "Program", "RacesFound", "explore", "judge_lines", "replay"]
