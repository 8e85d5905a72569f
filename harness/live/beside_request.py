"""From the words of a stress command to the plan of what goes on beside its load.

Owns: the defaults that hang on other options, and what does not go together. Does not own: options (`harness/cli`), the
parts (`beside.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.live.beside import BesidePlan, ToxicPlan
from harness.live.command_secrets import shell_without_secrets
from harness.live.liveness.recovery import RecoverySettings
from harness.live.liveness.toxic import PROMPT_TOKENS, TOXIC
from harness.live.server_logs.tail import opened
from harness.live.server_logs.zones import zone_offset_s
from harness.simulation import provenance
from kernels.errors import ConfigError

_RECOVERY_PATIENCE_S = (5.0, 30.0)
"""At least and at most, for one answer after the load."""
_REPEATED = ("log_zone", "hang_timeout", "toxic", "toxic_block", "toxic_tokens", "recovery_wait")


def beside_plan(arguments: Mapping[str, Any], arm: str | None, arms: Sequence[str]) -> BesidePlan:
    """One server's plan. Raises: ConfigError.

    Args:
        arm: its name, where there are several; None for the only one. arms: all names.
    """
    zone = arguments["log_zone"]
    if zone is not None and not arguments["server_logs"]:
        raise ConfigError("--log-zone belongs to --server-log", key="--log-zone")
    logs = [file for name, file in _logs(arguments["server_logs"], arms) if name in (None, arm)]
    for file in logs:
        # A wrong name is told before the server is asked for anything.
        opened(file).close()
    read_timeout_s = float(arguments["read_timeout"])
    hang_timeout_s = read_timeout_s / 2 if arguments["hang_timeout"] is None else float(arguments["hang_timeout"])
    wants_recovery, wait_s = arguments["recovery"], arguments["recovery_wait"]
    if wants_recovery is False and wait_s is not None:
        raise ConfigError("--recovery-wait has nothing to wait for with --no-recovery", key="--recovery-wait")
    wait_s = RecoverySettings().wait_s if wait_s is None else float(wait_s)
    least_s, most_s = _RECOVERY_PATIENCE_S
    # Whoever says early that a server hangs does not wait much longer for the one that did.
    patience_s = min(read_timeout_s, most_s, max(least_s, 2 * hang_timeout_s or most_s))
    settings = RecoverySettings(wait_s, patience_s)
    return BesidePlan(
        server_logs=tuple(logs),
        log_offset_s=None if zone is None else zone_offset_s(zone, provenance.utc_now()),
        hang_timeout_s=hang_timeout_s,
        recovery=None if wants_recovery is False else settings,
        recovers_after_cuts_only=wants_recovery is None and arm is not None,
        toxic=_toxic(arguments, is_alone=arm is None),
        requires_host_tier=bool(arguments["requires_host_tier"]),
    )


def beside_words(arguments: Mapping[str, Any]) -> list[str]:
    """What of it stands in the command that repeats the run."""
    words = []
    for text in arguments["server_logs"]:
        words += ["--server-log", text]
    if arguments["toxic_command"] is not None:
        words += ["--toxic-command", shell_without_secrets(arguments["toxic_command"])]
    for name in _REPEATED:
        if arguments[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(arguments[name])]
    if arguments["recovery"] is not None:
        words.append("--recovery" if arguments["recovery"] else "--no-recovery")
    if arguments["requires_host_tier"]:
        words.append("--require-host-tier")
    return words


def _logs(texts: Sequence[str], arms: Sequence[str]) -> list[tuple[str | None, Path]]:
    """(arm, file) of each; no arm where there is one server only."""
    if not arms:
        return [(None, Path(text)) for text in texts]
    found: list[tuple[str | None, Path]] = []
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals or name not in arms:
            what = f"--server-log '{text}' does not say whose log it is; with --arm write ARM=FILE"
            raise ConfigError(what, key="--server-log", value=text, allowed=tuple(arms))
        found.append((name, Path(file)))
    return found


def _toxic(arguments: Mapping[str, Any], *, is_alone: bool) -> ToxicPlan | None:
    kind, command, tokens = arguments["toxic"], arguments["toxic_command"], arguments["toxic_tokens"]
    long = [name for name, one in TOXIC.items() if one.prompt_share]
    if tokens is not None and kind not in long:
        what = "--toxic-tokens is the length of a neighbour's long prompts: it belongs to --toxic"
        raise ConfigError(f"{what} {' or '.join(long)}", key="--toxic-tokens")
    if kind is None and command is None:
        if arguments["toxic_block"] is not None:
            raise ConfigError("--toxic-block belongs to --toxic or --toxic-command", key="--toxic-block")
        return None
    if kind is not None and command is not None:
        raise ConfigError("--toxic and --toxic-command are two neighbours; leave one of them out", key="--toxic")
    if not is_alone:
        raise ConfigError("--toxic and --arm both divide the time into blocks; measure one server at a time",
                          key="--toxic")  # fmt: skip
    return ToxicPlan(kind, command, arguments["toxic_block"], PROMPT_TOKENS if tokens is None else int(tokens))
