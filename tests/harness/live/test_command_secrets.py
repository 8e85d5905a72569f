"""Commands as they are shown: without keys, and otherwise letter by letter."""

from __future__ import annotations

import pytest

from harness.live.command_secrets import shell_without_secrets, without_secrets


def test_no_secret_of_a_command_is_shown() -> None:
    words = ["serve", "--api-key", "K1", "--token=K2", "sk-K3", "--max-tokens", "5", "--x_secret", "K4", "-n", "8"]
    shown = ["serve", "--api-key", "...", "--token=...", "...", "--max-tokens", "5", "--x_secret", "...", "-n", "8"]
    assert without_secrets(words) == shown
    assert without_secrets(["env", "API_KEY=K5", "x=y", "key", "v"]) == ["env", "API_KEY=...", "x=y", "key", "v"]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("while true; do  curl -s 'http://h/v1?a=b c' | wc; done", None),
        ("echo \"it's\" && echo 'unclosed", None),
        ("", None),
        ("  serve  --api-key 'K 1'  -n 8 &", "  serve  --api-key ...  -n 8 &"),
        ('HF_TOKEN="K 1" x --token "K \\" 2"; y', 'HF_TOKEN=... x --token ... y'),
        ("x 'sk-K 1' --password=K2;y", "x ... --password=..."),
    ],
)  # fmt: skip
def test_a_shell_keeps_its_spelling(command: str, shown: str | None) -> None:
    assert shell_without_secrets(command) == (command if shown is None else shown)


def test_keys_inside_of_words() -> None:
    key = "Zx81" + "k3" * 14
    for command in (f"curl -H 'Authorization: Bearer {key}' http://h", f"curl http://me:{key}@h/v1", f"x=ghp_{key}"):
        assert key not in shell_without_secrets(command)
