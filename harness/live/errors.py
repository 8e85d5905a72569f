"""What a user hears when a deployment cannot be measured at all.

Owns: the sentences. Does not own: errors of single turns (`harness/transport/errors.py`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.transport.errors import EngineError, EngineProtocolError, EngineTimeout, EngineUnreachable
from kernels.errors import ConfigError, EnvironmentProblem, KVRaceError


class ServerRefuses(EnvironmentProblem):
    """The server is there, and does not do what a measurement needs."""


def unusable(error: EngineError, base_url: str) -> KVRaceError:
    """What the error of a first request means for the whole run."""
    if isinstance(error, EngineUnreachable):
        return EnvironmentProblem(str(error), remedy="check --base-url, and that the server is up")
    if isinstance(error, EngineTimeout):
        return EnvironmentProblem(str(error), remedy="check that the server is up, or raise --read-timeout")
    assert isinstance(error, EngineProtocolError), error
    if error.status in (401, 403):
        sentence = f"{base_url}: {error}; give a key that it takes with --api-key-env or --api-key-file"
        return ConfigError(sentence, key="--api-key-env")
    if error.status in (404, 405):
        sentence = f"{base_url} has no chat completions, or not this model: {error}; most base URLs end in /v1"
        return ConfigError(sentence, key="--base-url", value=base_url)
    return ServerRefuses(f"{base_url}: {error}", remedy="see what `run.py probe` says of this server")


class UnknownModel(ConfigError):
    """The server lists its models, and the one that was asked for is none of them."""

    def __init__(self, model: str, models: Sequence[str]) -> None:
        super().__init__(f"the server has no model '{model}'", key="--model", value=model, allowed=models)
