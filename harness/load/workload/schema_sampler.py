"""Draws a value that a JSON Schema allows: objects, arrays, strings, numbers, enums.

Owns: the part of JSON Schema that the tools under `data/tools` use. Does not own: checking (a test does that with
a JSON-Schema library). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.load.workload.words import Vocabulary

Schema = Mapping[str, Any]


@dataclass(slots=True)
class Sampler:
    """Draws values for one call. The first free text of a call holds one of the secrets, later ones may.

    `secret_due` is the state that this takes: true until a secret was written.
    """

    vocabulary: Vocabulary
    rng: np.random.Generator
    secrets: Sequence[str]
    secret_due: bool = True

    def value(self, schema: Schema) -> Any:
        """A value that `schema` allows. An unknown type is our own mistake in a data file."""
        if "enum" in schema:
            return schema["enum"][int(self.rng.integers(len(schema["enum"])))]
        kind = schema["type"]
        if kind == "object":
            return self.object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return self._date() if schema.get("format") == "date" else self._text()
        if kind == "integer":
            return int(self.rng.integers(schema["minimum"], schema["maximum"] + 1))
        if kind == "number":
            # Whole hundredths: short in text, and exact when written and read again.
            return int(self.rng.integers(schema["minimum"] * 100, schema["maximum"] * 100 + 1)) / 100
        assert kind == "boolean", f"no rule for type {kind!r}"
        return bool(self.rng.integers(2))

    def object(self, schema: Schema) -> dict[str, Any]:
        """All required properties, each optional one with probability one half, in the schema's order."""
        required = schema["required"]
        return {
            name: self.value(inner)
            for name, inner in schema["properties"].items()
            if name in required or self.rng.random() < 0.5
        }

    def _array(self, schema: Schema) -> list[Any]:
        length = int(self.rng.integers(schema["minItems"], schema["maxItems"] + 1))
        if schema.get("uniqueItems"):
            options = schema["items"]["enum"]
            return [options[int(index)] for index in self.rng.permutation(len(options))[:length]]
        return [self.value(schema["items"]) for _ in range(length)]

    def _text(self) -> str:
        """Two or three words, one of them a secret where one is due."""
        words = [self._pick(self.vocabulary.adjectives), self._pick(self.vocabulary.nouns)]
        if self.secrets and (self.secret_due or self.rng.random() < 0.25):
            words.insert(int(self.rng.integers(3)), self._pick(self.secrets))
            self.secret_due = False
        return " ".join(words)

    def _date(self) -> str:
        year, month, day = self.rng.integers((2027, 1, 1), (2032, 13, 29)).tolist()
        return f"{year}-{month:02d}-{day:02d}"

    def _pick(self, options: Sequence[str]) -> str:
        return options[int(self.rng.integers(len(options)))]
