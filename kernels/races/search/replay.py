"""Replaying a token: the order it names, once more, with a trace.

Owns: running a token on a program. Does not own: tokens, programs by name. Floor 2b.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.races.detector.detector import Detector, detect
from kernels.races.scheduler.execution import Execution, Strategy
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program, program_hash
from kernels.races.scheduler.tracing import Tracer
from kernels.races.search.mending import Additions, with_edges
from kernels.races.search.result import MendCheck
from kernels.races.search.tokens import Token, TokenRefused
from kernels.races.strategies.issue_order import Constraint, IssueOrder, OpRef
from kernels.races.strategies.replaying import Replaying
from kernels.substrate.trace import MemoryTrace


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """One execution in the order of a token. was_met: False where its order constraints cannot be met any more, which
    is what an added wait does to them."""

    outcome: Outcome
    trace: MemoryTrace
    detector: Detector
    was_met: bool


def run_token(plan: Plan, token: Token) -> Replay:
    """Run a token on a plan, whatever its hash. Raises: ReplayDivergence where recorded choices do not fit."""
    strategy = strategy_of(token)
    tracer = Tracer()
    # Asked always: a constraint that cannot be met shows where only the held operation could run.
    outcome = Execution(plan, observer=tracer).run(strategy, asks_always=token.choices is None)
    was_met = strategy.was_met if isinstance(strategy, IssueOrder) else True
    return Replay(outcome, tracer.trace, detect(tracer.trace), was_met)


def strategy_of(token: Token) -> Strategy:
    """What runs the order of a token."""
    return IssueOrder(token.constraints) if token.choices is None else Replaying(token.choices)


def settled(plan: Plan) -> Plan:
    """The plan once it knows which cells are shared, as a search knows it: so that both number the same steps."""
    Execution(plan).run(IssueOrder())
    return plan


def replay(program: Program, token: str, *, mend: MendCheck | None = None, has_call_sites: bool = False) -> Replay:
    """Replay a token of this program, with the edges of `mend` added where it is given.

    Raises: TokenRefused where it was made with another program.
    """
    parsed = Token.parse(token, program_hash=program_hash(program))
    if mend is None:
        plan = settled(Plan(program, has_call_sites=has_call_sites))
        _refuse_unknown(parsed, plan)
        return run_token(plan, parsed)
    plan = settled(Plan(with_edges(program, mend.edges), has_call_sites=has_call_sites))
    _refuse_unknown(parsed, plan)
    additions = Additions(mend.edges)
    names = [stream.name for stream in plan.script.machine.streams]

    def moved(at: OpRef) -> OpRef:
        return OpRef(at.stream, additions.new_place(names[at.stream], at.place))

    constraints = tuple(Constraint(moved(one.before), moved(one.behind)) for one in parsed.constraints)
    # Recorded choices mean nothing on a program with other steps; its order constraints still do.
    return run_token(plan, Token(plan.hash, parsed.workload, constraints))


def _refuse_unknown(token: Token, plan: Plan) -> None:
    """A token that was cut or edited may name what the program does not have. Raises: TokenRefused."""
    streams = plan.script.machine.streams
    for at in (at for one in token.constraints for at in (one.before, one.behind)):
        if at.stream >= len(streams):
            raise TokenRefused(str(token), f"it names stream {at.stream}, but the program has 0 to {len(streams) - 1}")
        if not 1 <= at.place <= streams[at.stream].count:
            count, name = streams[at.stream].count, streams[at.stream].name
            raise TokenRefused(str(token), f"it names operation {at.place} of {name}, which has 1 to {count}")
