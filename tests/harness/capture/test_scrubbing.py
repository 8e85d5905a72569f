"""Secrets go, whatever holds them; everything else stays as it is, and equal texts stay equal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from harness.capture.credentials import secrets_of
from harness.capture.scrubbing.rules import scrub_rules
from harness.capture.scrubbing.scrubber import ScrubRules, SecretScrubber
from harness.config import load_scenario
from harness.load.workload import build_workload
from kernels.engine.shared import SharedModel
from kernels.errors import ConfigError
from tests.harness.capture.secrets import in_prose, planted

SEEDS = range(20)
OF_HEADERS = {"header", "cookie", "password"}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_is_found_in_prose_and_in_json_inside_json(seed: int) -> None:
    secrets = planted(np.random.default_rng(seed))
    prose = in_prose(secrets)
    for text in (prose, json.dumps({"log": prose}), json.dumps(json.dumps({"log": prose}))):
        cleaned = SecretScrubber(ScrubRules()).text(text)
        left = [name for name, secret in secrets.items() if secret in cleaned and name not in OF_HEADERS]
        assert left == [], (seed, cleaned)
        lines = secrets["pem"].split("\n")[1:-1]
        assert not any(line in cleaned for line in lines), "a private key goes with its body"
        assert "Please fix the deployment. My keys are [api-key-" in cleaned
        assert "git.example.com/app.git" in cleaned
        assert text == prose or json.loads(cleaned), "what was JSON is JSON still"


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_secrets_get_equal_stand_ins_and_different_ones_different(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = planted(rng), planted(rng)
    scrubber = SecretScrubber(ScrubRules())
    first, second, again = (scrubber.text(in_prose(secrets)) for secrets in (one, other, one))
    assert first == again
    stand_ins = [re.findall(r"\[[a-z-]+-\d+\]", text) for text in (first, second)]
    assert len(stand_ins[0]) == len(set(stand_ins[0])) == len(one) - len(OF_HEADERS)
    assert not set(stand_ins[0]) & set(stand_ins[1])
    assert sum(scrubber.counts.values()) == len({*stand_ins[0], *stand_ins[1]})


def test_a_value_under_the_name_of_a_secret_goes_and_is_known_from_then_on() -> None:
    scrubber = SecretScrubber(ScrubRules())
    body = {
        "messages": [{"role": "user", "content": "hunter2! does not work"}, {"input": {"db_password": "hunter2!"}}],
        "tools": [{"parameters": {"properties": {"password": {"type": "string"}}}}],
        "max_tokens": 7,
    }
    cleaned = scrubber.value(body)
    assert cleaned["messages"][1]["input"]["db_password"] == "[password-1]"
    assert cleaned["messages"][0]["content"] == "[password-1] does not work", "also where it came first"
    assert (cleaned["tools"], cleaned["max_tokens"]) == (body["tools"], 7)
    assert scrubber.text("hunter2!") == "[password-1]"
    assert (b"hunter2!", b"[password-1]") in scrubber.spelled()


@pytest.mark.parametrize(
    "text",
    [
        "password: please enter it", "The password is wrong.", "the secret ingredient: love", "Bearer tokens are used",
        "max_tokens=200000, token: Hello", "primary key: id", "http://127.0.0.1:8000/v1", "a task-list of risk-takers",
        "git@github.com:a/b.git", "x = {'password': password}", "ratio 3:4 @ noon", "import secrets; key = secrets[0]",
        "https://example.com/a?page=3&sort=key", "-----BEGIN CERTIFICATE-----", "eyJ", "sk-", "mail bob@example.com",
        "7f3c9a4e8b2d4f6a9c1e5d7b3a8f2c6e", "password=${PASSWORD} token=<your-token-1>",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    scrubber = SecretScrubber(ScrubRules())
    assert scrubber.value({"content": text}) == {"content": text}
    assert not scrubber.counts


def test_the_builtin_workload_stays_as_it_is() -> None:
    spec = load_scenario("off_bf16", {"workload.sessions": 4}).workload
    workload = build_workload(spec, 5, SharedModel().reader.count_tokens)
    scrubber = SecretScrubber(ScrubRules())
    bodies = [{"messages": plan.messages(len(plan.turns) - 1), "tools": plan.tools} for plan in workload.sessions]
    assert sum(len(json.dumps(body)) for body in bodies) > 200_000
    plain = json.loads(json.dumps(bodies))
    assert scrubber.value(plain) == plain


def test_a_word_that_any_text_may_hold_is_not_looked_for_elsewhere() -> None:
    scrubber = SecretScrubber(ScrubRules())
    assert scrubber.value({"password": "password"}) == {"password": "[password-1]"}
    assert scrubber.text("the password is wrong") == "the password is wrong"


def test_strict_takes_addresses_and_random_words_too() -> None:
    text = "ask bob@example.com at 10.1.2.3, id 9fQ2xL0vT7bN4mK8sW1z, v1.2.3, abcdefghijklmnopqrstuvwxyz"
    assert SecretScrubber(ScrubRules()).text(text) == text
    strict = SecretScrubber(ScrubRules("strict")).text(text)
    assert strict == "ask [email-1] at [ip-address-1], id [random-1], v1.2.3, abcdefghijklmnopqrstuvwxyz"


def test_own_patterns_and_words(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("# customers\nAcme\n\nNorth Star\n", encoding="utf-8")
    rules = scrub_rules("keep-text", [r"ticket-\d+", r"room (?P<secret>\w+)"], words)
    scrubber = SecretScrubber(rules)
    text = "Acme opens ticket-12 and ticket-12 in room five of North Star, password=hunter2!"
    expected = "[own-1] opens [own-3] and [own-3] in room [own-4] of [own-2], password=hunter2!"
    assert scrubber.text(text) == expected
    assert rules.sentence() == "keep-text and 2 patterns and 2 words"


@pytest.mark.parametrize(
    ("patterns", "text", "sentence"),
    [
        (["("], None, "is no regular expression"),
        (["x*"], None, "matches the empty text"),
        ([], "", "holds no word"),
        ([], "a\n", "stands in every text"),
        ([], None, "cannot be read"),
    ],
)
def test_wrong_patterns_and_files(patterns: list[str], text: str | None, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "words"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=sentence):
        scrub_rules("secrets", patterns, None if patterns else file)


def test_secrets_of_headers() -> None:
    found = secrets_of({"authorization": "Bearer abc-123", "x-api-key": "k9", "cookie": "a=1; sid=zz9", "accept": "*"})
    assert {"abc-123", "k9", "zz9"} <= set(found)
    assert not {"*", "Bearer"} & set(found)


def test_what_was_cleaned_before_is_cleaned_again_when_a_secret_is_learned() -> None:
    scrubber = SecretScrubber(ScrubRules())
    assert scrubber.text("see hunter2!") == "see hunter2!"
    scrubber.learn("hunter2!", "header")
    assert scrubber.text("see hunter2!") == "see [header-1]"


def test_keep_text_keeps_bodies_but_not_what_headers_hold() -> None:
    scrubber = SecretScrubber(ScrubRules("keep-text"))
    scrubber.learn("key-of-a-header-1", "header")
    body = {"password": "hunter2!", "content": "sk-0123456789abcdefghij and key-of-a-header-1"}
    assert scrubber.value(body) == body | {"content": "sk-0123456789abcdefghij and [header-1]"}


def test_tokens_that_change_with_each_request_do_not_pile_up() -> None:
    scrubber = SecretScrubber(ScrubRules())
    scrubber.value({"password": "hunter2!"})
    for number in range(2_000):
        scrubber.learn(f"token-{number}-of-a-client", "header")
    assert len(scrubber.learned) < 300
    assert scrubber.text("token-1999-of-a-client, hunter2!") == "[header-2000], [password-1]"
