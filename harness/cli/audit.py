"""`run.py audit`: do the tokens that a capacity formula grants fit the memory that it divides?

Owns: its options and exit codes. Does not own: the arithmetic (`kernels.hicache.audit`), words (`harness.audit`).
Floor 6.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, cast, get_args

import click

from harness.audit.amounts import amount_bytes
from kernels.errors import ConfigError
from kernels.hicache.audit.costs import FORMULAS, SWA_RATIO, Formula, formula_named
from kernels.hicache.audit.judgement import Question, audit
from kernels.hicache.audit.rules import OLDER, RULES, RULES_NAMES, RulesName
from kernels.hicache.geometry import paged, preset, preset_names
from kernels.hicache.sizing import IndexFormat, PoolFormats

DEFAULT_PRESET = "deepseek-v4-flash"
DEFAULT_INDEX_K: IndexFormat = "bf16"

_HELP = """Count a model's KV pools twice, by SGLang's capacity formula and as they are allocated, and say what the
difference does to a memory.

Three questions: `--memory 80GB` of a preset; `--server-info URL|FILE` of a running server's own token count;
`--sglang PATH` of the formula in an installed, unpacked or packed SGLang, which is read and never imported.

Exit codes: 0 it fits, 1 memory is over-committed (with --sglang: bytes are under-counted), 2 your mistake, 3
environment, 4 could not judge."""


@click.command("audit", help=_HELP)
@click.option(
    "--preset", default=None, metavar="|".join(preset_names()), help=f"Geometry; {DEFAULT_PRESET} unless given."
)
@click.option(
    "--index-k",
    default=None,
    metavar="|".join(get_args(IndexFormat)),
    help=f"Format that index-K is stored in; {DEFAULT_INDEX_K} unless given, or as the server says.",
)
@click.option("--memory", default=None, metavar="80GB", help="What the configurator divides among the KV pools.")
@click.option(
    "--formula",
    default=None,
    metavar="|".join(FORMULAS),
    help="Format that the formula counts index-K in; the stored one unless given. allocated: padding too.",
)
@click.option(
    "--rules",
    default=None,
    metavar="|".join(RULES_NAMES),
    help=f"Version of SGLang whose padding and state rings hold; {OLDER.name} unless given, or the server's.",
)
@click.option("--swa-ratio", default=None, type=float, help=f"Window slots per full token; {SWA_RATIO} unless given.")
@click.option("--page-tokens", default=None, type=int, help="Tokens in a page; the preset's unless given.")
@click.option(
    "--max-running-requests",
    "requests",
    default=0,
    type=click.IntRange(min=0, max=10**6),
    help="Set c128 states of so many requests aside first.",
)
@click.option("--server-info", default=None, metavar="URL|FILE", help="A server, or what its /server_info answered.")
@click.option("--sglang", default=None, metavar="PATH", help="SGLang's package: installed, unpacked, or a wheel.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.pass_context
def audit_command(context: click.Context, /, **arguments: Any) -> int:
    mode = _mode(context, arguments)
    command = _command_line(arguments)
    if mode == "sglang":
        return _compare(arguments, command)
    return _ask_server(arguments, command) if mode == "server" else _ask(arguments, command)


def _mode(context: click.Context, arguments: Mapping[str, Any]) -> str:
    """Which of the three questions; options that would go unheard are the user's mistake."""
    if arguments["server_info"] is not None and arguments["sglang"] is not None:
        raise click.UsageError("give one of --server-info and --sglang")
    unheard: tuple[str, ...] = ()
    if arguments["sglang"] is not None:
        unheard = ("memory", "formula", "rules", "page_tokens", "requests")
    elif arguments["server_info"] is not None:
        unheard = ("swa_ratio", "page_tokens", "requests")
    elif arguments["memory"] is None:
        raise click.UsageError("give one of --memory 80GB, --server-info URL|FILE and --sglang PATH")
    given = [name for name in unheard if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT]
    if given:
        option = next(each.opts[-1] for each in context.command.params if each.name == given[0])
        told = "--sglang" if arguments["sglang"] is not None else "--server-info"
        raise click.UsageError(f"{option} says nothing to {told}")
    if arguments["sglang"] is not None:
        return "sglang"
    return "server" if arguments["server_info"] is not None else "preset"


def _ask(arguments: Mapping[str, Any], command: str) -> int:
    from harness.audit.as_json import audit_json
    from harness.audit.text import audit_text

    geometry = preset(arguments["preset"] or DEFAULT_PRESET)
    if arguments["page_tokens"] is not None:
        geometry = paged(geometry, arguments["page_tokens"])
    index_k = _index_k(arguments) or DEFAULT_INDEX_K
    question = Question(
        geometry=geometry,
        formats=PoolFormats(index_k=index_k),
        formula=_formula(arguments) or index_k,
        memory_bytes=amount_bytes(arguments["memory"], "--memory"),
        rules=RULES[_rules(arguments) or OLDER.name],
        swa_ratio=_swa_ratio(arguments),
        requests=arguments["requests"],
    )
    found = audit(question)
    click.echo(json.dumps(audit_json(found, command)) if arguments["is_json"] else audit_text(found, command))
    return 1 if found.is_over_committed else 0


def _ask_server(arguments: Mapping[str, Any], command: str) -> int:
    from harness.audit.as_json import server_json
    from harness.audit.server_info import Given, read_server_info, server_question
    from harness.audit.text import server_text

    where = arguments["server_info"]
    memory = arguments["memory"]
    given = Given(
        preset=arguments["preset"],
        index_k=_index_k(arguments),
        formula=_formula(arguments),
        memory_bytes=None if memory is None else amount_bytes(memory, "--memory"),
        rules=_rules(arguments),
    )
    server = server_question(read_server_info(where), given, where)
    found = audit(server.question)
    click.echo(
        json.dumps(server_json(found, server, command)) if arguments["is_json"] else server_text(found, server, command)
    )
    return 1 if found.is_over_committed else 0


def _compare(arguments: Mapping[str, Any], command: str) -> int:
    from harness.audit.as_json import comparison_json
    from harness.audit.sglang_formula import compare
    from harness.audit.text import comparison_text

    geometry = preset(arguments["preset"] or DEFAULT_PRESET)
    formats = PoolFormats(index_k=_index_k(arguments) or DEFAULT_INDEX_K)
    found = compare(arguments["sglang"], geometry, formats, swa_ratio=_swa_ratio(arguments))
    click.echo(json.dumps(comparison_json(found, command)) if arguments["is_json"] else comparison_text(found, command))
    return 1 if found.under_count_bytes > 0 else 0


def _index_k(arguments: Mapping[str, Any]) -> IndexFormat | None:
    return cast("IndexFormat | None", _one_of(arguments["index_k"], get_args(IndexFormat), "--index-k"))


def _formula(arguments: Mapping[str, Any]) -> Formula | None:
    return None if arguments["formula"] is None else formula_named(arguments["formula"])


def _rules(arguments: Mapping[str, Any]) -> RulesName | None:
    return cast("RulesName | None", _one_of(arguments["rules"], RULES_NAMES, "--rules"))


def _one_of(value: str | None, allowed: tuple[str, ...], option: str) -> str | None:
    if value is not None and value not in allowed:
        raise ConfigError(f"unknown {option} '{value}'", key=option, value=value, allowed=allowed)
    return value


def _swa_ratio(arguments: Mapping[str, Any]) -> float:
    ratio: float = SWA_RATIO if arguments["swa_ratio"] is None else arguments["swa_ratio"]
    if not 0 < ratio <= 1:
        raise ConfigError(f"--swa-ratio {ratio:g} is not above 0 and at most 1", key="--swa-ratio", value=ratio)
    return ratio


def _command_line(arguments: Mapping[str, Any]) -> str:
    """The command that repeats it, with what was given."""
    words = ["python", "run.py", "audit"]
    for name, value in arguments.items():
        if name == "is_json" or value in (None, 0):
            continue
        option = "--max-running-requests" if name == "requests" else f"--{name.replace('_', '-')}"
        words += [option, str(value)]
    return shlex.join(words)
