"""What secrets look like: keys that announce themselves, secrets that their surroundings give away, private keys.

Owns: the patterns. Does not own: replacing (`scrubber.py`). Floor 5. Source: the key formats that issuers publish; RFC
6750 (bearer), RFC 7519 (JWT), RFC 7468 (PEM), RFC 3986 section 3.2.1 (passwords in URLs).

A library for this was looked for, and measured on a message of 178 kB. detect-secrets 1.5 takes 1.6 s and finds 13,796
secrets in plain prose: it is made for lines of source code. kingfisher 1.5 takes 3 ms and is exact, which is the wrong
side to err on here: of 15 planted secrets it leaves 5 standing (passwords, and keys whose exact form it does not
confirm); it weighs 43 MB and takes 3 s to load. These take 12 to 25 ms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SecretShape:
    """anchors: one of them, in lower case, stands in every match, so that most texts are never searched.

    pattern: its group `secret` is what must go. lead: where there is one, it is found in the text in lower case, and
    the pattern begins at its end; such a secret is known by its surroundings alone, so it is looked for everywhere
    else from then on.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    lead: re.Pattern[str] | None = None


_ALONE: Final = r"(?:(?<![A-Za-z0-9_\\-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a word begins, also behind an escape: in JSON inside a text, `\\nsk-...` is a key on a line of its own."""
_NAMES: Final = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|apikey|access[_-]?key|auth[_-]?key|encryption[_-]?key"
    r"|private[_-]?key|(?:auth|access|refresh|api|bearer|private|session|id)[_-]?token|credentials?)"
)
_PREFIXED: Final = (
    r"sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{30,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Za-z0-9-]{20,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"nvapi-[A-Za-z0-9_-]{30,}",
    r"(?:gsk|r8|npm)_[A-Za-z0-9]{30,}",
    r"(?:xai|pplx|tgp_v1|pypi)-[A-Za-z0-9_-]{30,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"dop_v1_[a-f0-9]{64}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
)
_PREFIX_ANCHORS: Final = (
    "sk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-",
    "aiza", "ya29.", "hf_", "nvapi-", "gsk_", "r8_", "npm_", "xai-", "pplx-", "tgp_v1-", "pypi-", "sg.", "dop_v1_",
    "age-secret",
)  # fmt: skip

NAMED: Final = re.compile(rf"(?:[a-z0-9]+[_.-])*{_NAMES}", re.IGNORECASE)
"""The name of a field whose value is a secret."""

SECRETS: Final = (
    SecretShape(
        "private-key",
        ("private key",),
        re.compile(
            r"(?P<secret>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[A-Za-z0-9+/=\s\\:,.()-]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*))"
        ),
    ),
    SecretShape(
        "jwt",
        ("eyj",),
        re.compile(_ALONE + r"(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,3})"),
    ),
    SecretShape("api-key", _PREFIX_ANCHORS, re.compile(rf"{_ALONE}(?P<secret>{'|'.join(_PREFIXED)})")),
    SecretShape(
        "aws-key",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
        re.compile(_ALONE + r"(?P<secret>(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16})(?![A-Za-z0-9])"),
    ),
    SecretShape(
        "webhook",
        ("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        re.compile(r"(?P<secret>(?:(?<=hooks\.slack\.com/)|(?<=/api/webhooks/))[A-Za-z0-9/_-]{16,})"),
    ),
    SecretShape(
        "authorization",
        ("authorization", "bearer"),
        re.compile(r"(?P<secret>(?:(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{8,}|[A-Za-z._~+/=-]{24,}))"),
        lead=re.compile(
            _ALONE + r"(?:authorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?:(?:basic|bearer|token|apikey)\s+)?|bearer\s+)"
        ),
    ),
    SecretShape(
        "url-password",
        ("://",),
        re.compile(r"[^\s/:@\"'<>\\]{0,200}:(?P<secret>[^\s/@\"'<>\\]{1,200})@"),
        lead=re.compile(r"(?<=[a-z0-9])://"),
    ),
    SecretShape(
        "url-parameter",
        ("key=", "token=", "sig=", "signature=", "password=", "secret="),
        re.compile(r"(?P<secret>[^&\s\"'<>\\#]{8,})"),
        lead=re.compile(r"[?&][a-z0-9_.-]{0,40}(?:key|token|sig|signature|password|secret)="),
    ),
    SecretShape(
        "password",
        ("passw", "passphrase", "pwd", "secret", "key", "token", "credential"),
        re.compile(
            r"\\*[\"'`](?P<secret>[^\"'`\\\s]{4,200})(?=\\*[\"'`])"
            r"|(?P<bare>(?=[^\s\"'`\\,;]*[\d!@#$%^&*+~])[^\s\"'`\\,;{}()<>\[\]]{6,200})"
        ),
        lead=re.compile(rf"{_NAMES}\\*[\"'`]?\s*(?:=>|:=|=|:)\s*"),
    ),
)

PERSONAL: Final = (
    SecretShape("email", ("@",), re.compile(_ALONE + r"(?P<secret>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b)")),
    SecretShape(
        "ip-address",
        (".",),
        re.compile(r"(?<![\w.])(?P<secret>(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d))(?![\w.])"),
    ),
)
"""Who somebody is. Only in strict mode: prompts are full of them, and a workload may need them."""

RANDOM_LOOKING: Final = re.compile(_ALONE + r"[A-Za-z0-9+/_-]{20,}={0,2}(?![A-Za-z0-9+/_=-])")
"""A word that may be a key of an unknown kind: long, and to be measured for its entropy."""
