# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are what this file is about.
"""Sound text that is not prose: code, tables, data, encodings, translations, repetition that is meant.

Owns: one generator a family, each of them something that a careless oracle takes for damage. Source: ours.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from uuid import UUID

import numpy as np

from benchmarks.corpus.prose import LANGUAGES, WORDS

Maker = Callable[[np.random.Generator], str]

_NAMES = ("total", "user_id", "delta", "rows", "cfg", "buf", "items", "acc", "state", "idx")


def _pick(rng: np.random.Generator, *items: str) -> str:
    return items[int(rng.integers(len(items)))]


def code(rng: np.random.Generator) -> str:
    a, b, n = _pick(rng, *_NAMES), _pick(rng, *_NAMES), int(rng.integers(1, 99))
    body = _pick(
        rng,
        f"def {a}_of({b}: list[int]) -> int:\n    return sum(x * {n} for x in {b} if x != {n})",
        f"for (let i = 0; i < {n}; i++) {{ {a}[i] = {b}?.[i] ?? `${{i}}px`; }}",
        f"SELECT {a}, COUNT(*) FROM {b} WHERE {a} <> '{n}' GROUP BY 1 HAVING COUNT(*) > {n};",
        f"fn {a}<T: Into<u64>>({b}: &[T]) -> Option<u64> {{ {b}.iter().map(|x| x.into()).max() }}",
        f"template <typename T> std::vector<T> {a}(T&& {b}) {{ return {{std::forward<T>({b})}}; }}",
        f"xs |> List.map (fun x -> x + {n}) |> List.filter (fun x -> x <> {n}) // {a} <| {b}",
        f'<s>{a}</s> <b>{b}</b> &lt;think&gt; <input type="checkbox" [disabled]="{a}">',
        f"grep -rn '{a}' . | awk '{{ print ${n} }}' | sort -u >{b}.txt 2>&1",
    )
    language = _pick(rng, "python", "js", "sql", "rust", "cpp", "fsharp", "html", "sh", "")
    return f"```{language}\n{body}\n```" if rng.random() < 0.7 else body


def json_text(rng: np.random.Generator) -> str:
    rows = [{"id": int(rng.integers(10**6)), "ok": bool(rng.integers(2)), "tag": _pick(rng, *WORDS)} for _ in range(5)]
    indent = None if rng.random() < 0.5 else 2
    return json.dumps({"status": "ok", "items": rows, "next": None}, indent=indent)


def table(rng: np.random.Generator) -> str:
    rows = int(rng.integers(2, 12))
    lines = [f"| {n} | {_pick(rng, *WORDS)} | {rng.random() * 100:.2f} |" for n in range(rows)]
    return "\n".join(("| id | name | total |", "|---:|------|------:|", *lines))


def csv_rows(rng: np.random.Generator) -> str:
    return "\n".join(f"{n},{int(rng.integers(1000))},{rng.random():.4f}" for n in range(int(rng.integers(4, 40))))


def html_rows(rng: np.random.Generator) -> str:
    cells = (f"<tr><td>{int(rng.integers(9999))}</td><td>{int(rng.integers(99))}</td></tr>" for _ in range(40))
    return "<table>" + "".join(cells) + "</table>"


def base64_text(rng: np.random.Generator) -> str:
    return base64.b64encode(rng.bytes(int(rng.integers(20, 400)))).decode()


def hex_dump(rng: np.random.Generator) -> str:
    return "\n".join(f"{16 * n:08x}  {rng.bytes(16).hex(' ')}" for n in range(int(rng.integers(1, 9))))


def long_number(rng: np.random.Generator) -> str:
    return "".join(str(int(digit)) for digit in rng.integers(0, 10, size=int(rng.integers(30, 300))))


def minified(rng: np.random.Generator) -> str:
    a, b, n = _pick(rng, "e", "t", "n"), _pick(rng, "r", "o", "i"), int(rng.integers(9, 999))
    part = f"!function({a},{b}){{for(var s=0;s<{a}.length;s++){b}[{a}[s]]=({b}[{a}[s]]||0)+{n}}}([1,2,3],{{}});"
    return part * int(rng.integers(1, 4))


def log_lines(rng: np.random.Generator) -> str:
    lines = (
        f"2026-11-{int(rng.integers(1, 30)):02d}T12:{n:02d}:07Z [INFO] worker={int(rng.integers(8))} "
        f"\x1b[32mPASS\x1b[0m test_{_pick(rng, *_NAMES)} ({rng.random():.2f} s)"
        for n in range(int(rng.integers(3, 20)))
    )
    return "\r\n".join(lines)


def urls(rng: np.random.Generator) -> str:
    query = f"?q=%E2%9C%93&utm_source={_pick(rng, *_NAMES)}&page={int(rng.integers(99))}#sec-{int(rng.integers(9))}"
    return f"See https://example.org/a/{UUID(bytes=rng.bytes(16))}{query} and mailto:a.b+c@example.org."


def patch(rng: np.random.Generator) -> str:
    name, n = _pick(rng, *_NAMES), int(rng.integers(1, 99))
    return f"@@ -{n},3 +{n},3 @@\n def {name}():\n-    return {n} # old\n+    return {n + 1} # new\n"


def latex(rng: np.random.Generator) -> str:
    n = int(rng.integers(1, 20))
    return (
        rf"\[\sum_{{k=1}}^{{{n}}} \frac{{1}}{{k^2}} \le \int_0^\infty e^{{-x^2}}\,dx\quad\text{{(see \cite{{a{n}}})}}\]"
    )


def repeated_on_purpose(rng: np.random.Generator) -> str:
    return _pick(
        rng,
        "ha " * int(rng.integers(5, 80)),
        "-" * int(rng.integers(20, 200)) + "\n" + "=" * 80,
        "Row, row, row your boat, gently down the stream.\nMerrily, merrily, merrily, merrily.\n" * 4,
        "All work and no play makes Jack a dull boy.\n" * int(rng.integers(5, 60)),
        "\n".join(f"test_{n} passed" for n in range(int(rng.integers(10, 90)))),
        "\n".join(f"- [ ] step {n}" for n in range(1, int(rng.integers(10, 60)))),
        "0, " * int(rng.integers(20, 200)),
        "哈哈" * int(rng.integers(5, 60)),
        "Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.",
    )


_CAT = (
    ("English", "cat"),
    ("Russian", "кот"),
    ("Chinese", "猫"),
    ("Arabic", "قطة"),
    ("Hebrew", "חתול"),
    ("Thai", "แมว"),
    ("Korean", "고양이"),
    ("Greek", "γάτα"),
    ("Hindi", "बिल्ली"),
    ("Georgian", "კატა"),
)
_DOG = ("dog", "собака", "狗", "كلب", "כלב", "สุนัข", "개", "σκύλος", "कुत्ता", "ძაღლი")


def translations(rng: np.random.Generator) -> str:
    """One word in several scripts: a line each, or in a sentence, where the scripts keep their order."""
    chosen = [int(index) for index in rng.choice(len(_CAT), size=int(rng.integers(3, 8)), replace=False)]
    if rng.random() < 0.5:
        lines = (f"{_CAT[index][0]}: {_CAT[index][1]}, {_DOG[index]}" for index in chosen)
        return _pick(rng, "\n", "\n- ").join(lines)
    cat, dog = (
        ", ".join(words)
        for words in (
            [f"'{_CAT[index][1]}' in {_CAT[index][0]}" for index in chosen],
            [f"'{_DOG[index]}'" for index in chosen],
        )
    )
    return f"Cat is {cat}; and dog is, in this order, {dog}."


def quoted_foreign(rng: np.random.Generator) -> str:
    language = str(rng.choice([name for name in LANGUAGES if name not in ("maths", "emoji", "chemistry")]))
    line = LANGUAGES[language][0]
    return f"The sign reads “{line}”, which means that someone will look into it. I'd translate “{line}” freely."


def about_tokens(rng: np.random.Generator) -> str:
    """Documentation of the very tokens that a corrupted reply leaks: quoted, in code, or called a token."""
    token = _pick(
        rng, "<|im_start|>", "<think>", "</think>", "<tool_call>", "<|endoftext|>", "[INST]", "<s>", "<｜User｜>"
    )
    return _pick(
        rng,
        f"ChatML frames each turn with `{token}` and a role name.",
        f"```\n{token}system\nYou are helpful.\n```",
        f'The template adds "{token}" in front, so strip it first.',
        f"Models of this family emit the {token} token before they answer.",
        f"Use a {token} tag only once; a second {token} tag breaks the parser.",
    )


STRUCTURED: Mapping[str, Maker] = MappingProxyType(
    {
        "code": code,
        "JSON": json_text,
        "table": table,
        "CSV": csv_rows,
        "HTML rows": html_rows,
        "base64": base64_text,
        "hex dump": hex_dump,
        "long number": long_number,
        "minified JS": minified,
        "log lines": log_lines,
        "URLs": urls,
        "patch": patch,
        "LaTeX": latex,
        "meant repetition": repeated_on_purpose,
        "translations": translations,
        "quoted foreign text": quoted_foreign,
        "text about tokens": about_tokens,
    }
)
