"""Which server is to be loaded, and whether it may be.

Owns: reading base URLs, and the rule that nobody loads a server by accident. Does not own: limits (`limits.py`).
Floor 5. Source: ours.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from kernels.errors import ConfigError

PERMISSION = "--i-may-load-this-server"
_ARM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Target:
    """One server. name: of the arm, or `live`."""

    name: str
    base_url: str


def target_of(base_url: str, *, name: str = "live", is_permitted: bool) -> Target:
    """Raises: ConfigError for what is no base URL, and for a server elsewhere without permission."""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
        _ = parts.port
    except ValueError as problem:
        raise ConfigError(f"'{base_url}' is no URL ({problem})", key="--base-url", value=base_url) from None
    if parts.username is not None or parts.password is not None:
        # Not repeated in the sentence: it holds a secret.
        what = "the base URL holds a user name or password; give secrets with --api-key-env, --api-key-file or --header"
        raise ConfigError(what, key="--base-url")
    if parts.scheme not in ("http", "https") or not host:
        what = f"'{base_url}' is no base URL; it has the form http://HOST:PORT/v1"
        raise ConfigError(what, key="--base-url", value=base_url)
    if parts.query or parts.fragment:
        raise ConfigError("the base URL ends before any '?' or '#'", key="--base-url")
    if not is_permitted and not is_loopback(host):
        what = f"'{host}' is not on this machine, and a stress run may hurt whoever uses it"
        raise ConfigError(f"{what}; if you may load it, say so with {PERMISSION}", key=PERMISSION)
    return Target(name, base_url.rstrip("/"))


def arms_of(texts: tuple[str, ...], *, is_permitted: bool) -> tuple[Target, ...]:
    """`on=URL` for each arm. Raises: ConfigError."""
    arms = []
    for text in texts:
        name, equals, url = text.partition("=")
        if not equals or _ARM_NAME.fullmatch(name) is None:
            raise ConfigError(f"--arm '{text}' does not have the form NAME=URL", key="--arm", value=text)
        arms.append(target_of(url, name=name, is_permitted=is_permitted))
    names = [arm.name for arm in arms]
    if len(set(names)) < len(names) or len(arms) == 1:
        what = "--arm must be given two times or more, each with a name of its own"
        raise ConfigError(what, key="--arm", value=" ".join(names))
    return tuple(arms)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
