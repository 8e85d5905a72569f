"""`run.py serve` with a client of its own kind: OpenAI's, over loopback, in real time.

Owns: a served request from the first line to Ctrl-C. Does not own: the servers (tests/harness/pair). Floor: tests.
"""

from __future__ import annotations

import json
import shlex
import subprocess

import openai
import pytest

from tests.harness.cli.child import PATIENCE_S, TEST_S, Child, child

pytestmark = pytest.mark.timeout(TEST_S)

_FACT = 'lookup_order {"order": "K-7731"}'


def _ask(address: dict[str, str], prompt: str) -> str | None:
    with openai.OpenAI(base_url=address["base_url"], api_key="none", timeout=PATIENCE_S, max_retries=0) as client:
        reply = client.chat.completions.create(
            model=address["model"], messages=[{"role": "user", "content": prompt}], max_tokens=60
        )
    return reply.choices[0].message.content


def _addresses(running: Child) -> dict[str, str]:
    found: dict[str, str] = json.loads(running.first_line("stdout"))
    return found


def test_serves_until_ctrl_c_and_ends_as_a_server_should() -> None:
    with child("serve", "--json", "--speed", "20") as running:
        address = _addresses(running)
        assert {"scenario", "seed", "model", "base_url", "router", "prefill", "decode"} <= set(address)
        prompt = f"[[order 12]] {_FACT}\n[[order 13]] something else\nWhat is to be done? ((order 12))"
        assert _ask(address, prompt) == _FACT
        # A second one, so that the first has left nothing behind that would hold it up.
        assert _ask(address, prompt) == _FACT
        running.interrupt()
        ended = running.end()
    assert (ended.code, ended.out, ended.err) == (0, "", "stopped\n")


def test_curl_line_that_is_printed_works_as_it_stands() -> None:
    with child("serve", "--speed", "20") as running:
        assert running.process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("curl "):
            lines.append(running.process.stdout.readline().strip())
        addresses = dict(line.split(maxsplit=1) for line in lines if " http://" in line and not line.startswith("curl"))
        assert set(addresses) == {"base_url", "router", "prefill", "decode"}
        try:
            answered = subprocess.run(shlex.split(lines[-1]), capture_output=True, text=True, timeout=PATIENCE_S)
        except FileNotFoundError:
            pytest.skip("there is no curl")
        assert json.loads(answered.stdout)["choices"][0]["message"]["content"] == "open the pod bay"
        running.interrupt()
        assert running.end().code == 0
