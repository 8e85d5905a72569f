"""Secrets made for tests: one of each kind, different for each seed, and where they are found in real prompts.

Owns: the making. Does not own: any expectation. Floor: tests. Source: the formats as their issuers show them; the bytes
are random, so that none is anybody's.
"""

from __future__ import annotations

import base64
import json
import string

import numpy as np

_LETTERS = string.ascii_letters + string.digits


def planted(rng: np.random.Generator) -> dict[str, str]:
    """By name: the secret itself."""

    def word(count: int, alphabet: str = _LETTERS) -> str:
        # A digit always: a key of random letters and digits without one is not to be expected.
        return "".join(rng.choice(list(alphabet), count - 1)) + str(rng.integers(2, 8))

    lines = "\n".join(word(64) for _ in range(6))
    claims = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
              for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": word(8), "admin": True})]  # fmt: skip
    upper = string.ascii_uppercase + "234567"
    return {
        "openai": f"sk-{word(48)}",
        "openai project": f"sk-proj-{word(40)}_{word(20)}",
        "anthropic": f"sk-ant-api03-{word(40)}-{word(40)}",
        "aws id": f"AKIA{word(16, upper)}",
        "aws secret": word(40),
        "github": f"ghp_{word(36)}",
        "github fine": f"github_pat_{word(22)}_{word(59)}",
        "gitlab": f"glpat-{word(20)}",
        "slack": f"xoxb-{word(11, string.digits)}-{word(12, string.digits)}-{word(24)}",
        "google": f"AIza{word(35)}",
        "hugging face": f"hf_{word(34)}",
        "stripe": f"sk_live_{word(24)}",
        "jwt": ".".join([*claims, word(43)]),
        "pem": f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----",
        "bearer": word(40),
        "basic": base64.b64encode(f"bob:{word(12)}".encode()).decode(),
        "url password": word(14),
        "url parameter": word(20),
        "password": word(10),
        "env password": word(12),
        "header": word(30),
        "cookie": word(24),
    }


def in_prose(secrets: dict[str, str]) -> str:
    """A message that holds all of them, but for those of the headers."""
    return f"""Please fix the deployment. My keys are {secrets["openai"]}, {secrets["openai project"]} and
"{secrets["anthropic"]}"; the log says:
    curl -s -H "Authorization: Bearer {secrets["bearer"]}" https://api.example.com/?token={secrets["url parameter"]}&x=1
    Authorization: Basic {secrets["basic"]}
    AWS_ACCESS_KEY_ID={secrets["aws id"]}
    aws_secret_access_key = "{secrets["aws secret"]}"
    export DB_PASSWORD={secrets["env password"]}
    git clone https://bob:{secrets["url password"]}@git.example.com/app.git
tokens: {secrets["github"]} {secrets["github fine"]} {secrets["gitlab"]} {secrets["slack"]}
{secrets["google"]},{secrets["hugging face"]};{secrets["stripe"]}
session {secrets["jwt"]}
{secrets["pem"]}
"""
