"""What a judge must know about a run besides the turn: its tools, its secrets, its planted calls, its freedom.

Owns: preparing them once, so that judging a turn is a few look-ups. Floor 3. Source: ours.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import jsonschema_rs

from kernels.errors import ConfigError
from results.oracles.marks import all_marks
from results.oracles.scripts import LATIN, scripts_of
from results.records import ExpectedCall, SessionRecord, ToolSchema

SECRET_CHARACTERS_MIN = 6
"""A shorter secret may stand in sound text by chance, and cross-talk is to be a proof."""

PlantedAt = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Secrets:
    """Every session's secret words, indexed by their first `width` characters."""

    width: int
    words: Mapping[str, tuple[str, ...]]
    owners: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """What is known of a run. Built by `judge_context`.

    schemas: (group or None for every group, tool name) -> compiled schema.
    planted: canonical call -> (session, turn) of each turn that asked for it.
    scripts: session -> scripts of its prompts; `tool_scripts` are those of the tools' own texts.
    tool_marks: control tokens and tags that the tools' own texts speak of; `marks`: session -> those of its prompts,
    and broken characters in them.
    ended_ns: when each reply that came to its end did so, in order.
    exact_replies: the model is constructed: any other reply than the planted call is wrong, whatever it says.
    """

    schemas: Mapping[tuple[int | None, str], jsonschema_rs.Validator]
    secrets: Secrets
    planted: Mapping[bytes, tuple[PlantedAt, ...]]
    scripts: Mapping[int, frozenset[str]]
    tool_scripts: frozenset[str]
    tool_marks: frozenset[str]
    marks: Mapping[int, frozenset[str]]
    ended_ns: tuple[int, ...]
    exact_replies: bool
    max_tokens: int | None

    def is_in_prompts(self, mark: str, session: int) -> bool:
        """Whether the session's own prompts or tools hold it, so that a sound reply may repeat it."""
        return mark in self.tool_marks or mark in self.marks.get(session, ())

    def schema(self, group: int, name: str) -> jsonschema_rs.Validator | None:
        return self.schemas.get((group, name)) or self.schemas.get((None, name))


def judge_context(
    *,
    tools: Iterable[ToolSchema],
    sessions: Iterable[SessionRecord],
    planted: Iterable[tuple[int, int, ExpectedCall | None]] = (),
    ended_ns: Iterable[int] = (),
    exact_replies: bool = False,
    max_tokens: int | None = None,
) -> JudgeContext:
    """Prepare what the oracles need.

    Args:
        planted: (session, turn, call) of the turns that are known; used to name where a wrong call came from. None is
            left out: nobody knows that turn's answer.
        ended_ns: of the turns that are known; used to tell a request that hangs from a server that does.
    Raises: ConfigError for a tool whose schema is no JSON Schema, or a secret too short to prove anything.
    """
    tools, sessions = tuple(tools), tuple(sessions)
    calls: dict[bytes, list[PlantedAt]] = defaultdict(list)
    for session, turn, call in planted:
        if call is not None:
            calls[canonical_call(call.name, call.arguments)].append((session, turn))
    texts = tuple(text for tool in tools for text in (tool.name, tool.description, str(tool.parameters)))
    return JudgeContext(
        schemas=_schemas(tools),
        secrets=_secrets(sessions),
        planted={call: tuple(places) for call, places in calls.items()},
        scripts={session.session: frozenset(session.scripts) for session in sessions},
        tool_scripts=frozenset((LATIN,)).union(*map(scripts_of, texts)),
        tool_marks=frozenset[str]().union(*map(all_marks, texts)),
        marks={session.session: frozenset(session.marks) for session in sessions if session.marks},
        ended_ns=tuple(sorted(ended_ns)),
        exact_replies=exact_replies,
        max_tokens=max_tokens,
    )


def canonical_call(name: str, arguments: object) -> bytes:
    """One spelling for equal calls, whatever the order of keys. Raises: RecursionError for arguments nested too deep.

    Everything but ASCII is escaped, since a reply may hold half a surrogate pair, which has no bytes.
    """
    return json.dumps((name, arguments), sort_keys=True).encode()


def _schemas(tools: Iterable[ToolSchema]) -> dict[tuple[int | None, str], jsonschema_rs.Validator]:
    schemas: dict[tuple[int | None, str], jsonschema_rs.Validator] = {}
    for tool in tools:
        try:
            validator = jsonschema_rs.validator_for(tool.parameters)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"tool '{tool.name}': its parameters are not valid JSON Schema ({reason})", key="parameters"
            ) from None
        for group in tool.groups or (None,):
            schemas[group, tool.name] = validator
    return schemas


def _secrets(sessions: Iterable[SessionRecord]) -> Secrets:
    owners: dict[str, set[int]] = defaultdict(set)
    for session in sessions:
        for secret in session.secrets:
            if len(secret) < SECRET_CHARACTERS_MIN:
                raise ConfigError(
                    f"session {session.session}: secret '{secret}' is shorter than {SECRET_CHARACTERS_MIN} characters, "
                    "so it could stand in a sound reply by chance",
                    key="secrets",
                    value=secret,
                )
            owners[secret].add(session.session)
    width = min(map(len, owners), default=SECRET_CHARACTERS_MIN)
    words: dict[str, list[str]] = defaultdict(list)
    for secret in owners:
        words[secret[:width]].append(secret)
    return Secrets(
        width=width,
        words={head: tuple(group) for head, group in words.items()},
        owners={secret: frozenset(group) for secret, group in owners.items()},
    )
