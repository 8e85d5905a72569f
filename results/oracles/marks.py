# ruff: noqa: RUF001 - the bars of DeepSeek's tokens and typographic quotes are what this file is about.
"""Control tokens and markup of known model families, and where a text merely talks about them.

Owns: which strings they are, and what kind each one is. Does not own: when one of them is wrong (`control_tokens`,
`markup`). Floor 3. Source: public chat templates of DeepSeek, Qwen, Llama, Mistral, Gemma, Kimi and GPT-OSS models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


class MarkKind(Enum):
    CONTROL = auto()
    """Begin and end of text, roles, padding, reserved and byte tokens: no reply shows them."""
    REASONING_OPEN = auto()
    REASONING_CLOSE = auto()
    CALL_OPEN = auto()
    CALL_CLOSE = auto()
    CALL_OTHER = auto()
    """Separators inside a call."""
    AMBIGUOUS = auto()
    """Also ordinary text: `<s>` strikes out in HTML, `[MASK]` stands in prose. They only name what is known wrong."""


@dataclass(frozen=True, slots=True)
class Mark:
    kind: MarkKind
    text: str
    begin: int
    end: int


_MARK = re.compile(
    r"<\|/?[A-Za-z][\w▁/.-]{1,40}\|>"
    r"|</?｜[^｜<>\n]{2,40}(?:｜>|｜[a-z_]{3,20}(?: [a-z]{1,12}=\"[^\"<>]{0,80}\"){0,2}>)"
    r"|<0x[0-9A-F]{2}>|</?(?:start|end)_of_turn>|<extra_id_\d+>|<unused\d+>"
    r"|</?(?:think|thinking|tool_calls?|function_calls?)>|<function=[\w.-]{1,80}>|\[TOOL_CALLS\]"
    r"|</?s>|<(?:pad|unk|bos|eos|mask)>|\[/?INST\]|<</?SYS>>|\[(?:UNK|CLS|SEP|MASK|PAD)\]"
)
_AMBIGUOUS = re.compile(r"</?s>|<(?:pad|unk|bos|eos|mask)>|\[/?INST\]|<</?SYS>>|\[(?:UNK|CLS|SEP|MASK|PAD)\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*(?:`|\Z)", re.DOTALL)
_QUOTES = "`\"'“”„‘’«»‹›「」『』"
_MENTION = re.compile(r"\s*(?:-?tags?|-?tokens?|-?blocks?|-?elements?|-?markers?|-?sections?)\b", re.IGNORECASE)
_BOUNDARY = re.compile("begin|start|bos|end|eos|eot|eom|stop|return|pad", re.IGNORECASE)


def marks_in(text: str) -> Iterator[Mark]:
    """The marks of a text in order, without those in code, in quotes, or named as a tag or token in a sentence."""
    if "<" not in text and "[" not in text:
        return
    code: list[tuple[int, int]] | None = None
    for match in _MARK.finditer(text):
        begin, end = match.span()
        if code is None:
            code = [span.span() for span in _CODE.finditer(text)]
        is_code = any(first <= begin < last for first, last in code)
        if not is_code and not _is_mentioned(text, begin, end):
            yield Mark(_kind(match[0]), match[0], begin, end)


def all_marks(text: str) -> frozenset[str]:
    """Every mark that a text holds, quoted or not: a reply to such a text may speak of it."""
    return frozenset(_MARK.findall(text)) if "<" in text or "[" in text else frozenset()


def is_boundary(mark: Mark) -> bool:
    """Does it open or end a text or a turn? At the very edge of a reply it was only not stripped."""
    return mark.kind is MarkKind.CONTROL and _BOUNDARY.search(mark.text) is not None


def is_quoted(text: str, begin: int, end: int) -> bool:
    """Does a quote stand right in front of [begin, end), and one right behind it?"""
    return begin > 0 and end < len(text) and text[begin - 1] in _QUOTES and text[end] in _QUOTES


def _is_mentioned(text: str, begin: int, end: int) -> bool:
    return is_quoted(text, begin, end) or _MENTION.match(text, end) is not None


def _kind(mark: str) -> MarkKind:
    if _AMBIGUOUS.fullmatch(mark):
        return MarkKind.AMBIGUOUS
    name = mark.lower()
    is_close = name.startswith("</") or "end" in name
    if "think" in name:
        return MarkKind.REASONING_CLOSE if is_close else MarkKind.REASONING_OPEN
    if "sep" in name or "argument" in name:
        return MarkKind.CALL_OTHER
    if any(word in name for word in ("tool", "function", "python_tag", "dsml", "invoke")):
        return MarkKind.CALL_CLOSE if is_close else MarkKind.CALL_OPEN
    return MarkKind.CONTROL
