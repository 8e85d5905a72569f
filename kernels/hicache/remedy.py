"""Remedies: what can be put in where the index-K read has no gate of its own; right ones and wrong ones, by name.

Owns: the named switches and what each one turns. Does not own: doing it (access and `host_gate` wait, transfers order
and record, gate holds the events), or which of them closes the race: a run says that. Floor 2a.
Source: SGLang PR 22811 (the accessor's wait) and 0.5.23 (one read path); facts/sglang.md sections 0 and 1 (where a wait
falls short); the wrong ones are those of facts/concurrency.md section 6, made real.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from kernels.errors import ConfigError

IndexWait = Literal[
    "none", "accessor", "every_read", "layer_before", "behind_the_read", "second_accessor", "another_stream"
]
HostWait = Literal["none", "layer", "asks_once", "load", "layer_elsewhere", "load_elsewhere"]
IndexEvent = Literal["layer", "own", "own_before_the_copy"]

RemedyName = Literal[
    "none",
    "one_read_path",
    "event_per_pool",
    "index_k_first",
    "index_k_first_own_event",
    "ring_of_one",
    "host_gate",
    "host_sync",
    "gate_layer_before",
    "gate_behind_the_read",
    "gate_one_of_two",
    "gate_another_stream",
    "record_before_the_copy",
    "host_asks_once",
    "host_gate_elsewhere",
    "host_sync_elsewhere",
]

RING_DEPTH = 3
"""Loads that may be in flight, as in SGLang."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to order the index-K read behind its load, or to fail at it. The defaults change nothing.

    wait: where a stream waits. `accessor`: the reading stream, just before the read. `every_read`: whoever hands out a
        layer's pages waits, for every pool. `layer_before`: for the layer one below. `behind_the_read`: after it was
        launched. `second_accessor`: index-K is fetched by two accessors, keys and then scales, and only the second
        waits. `another_stream`: the stream that was current, here the backup's, not the one that reads.
    host: where a host thread waits. `layer`: the launching thread, before each read. `asks_once`: it asks, and goes on
        whatever the answer. `load`: it waits for the whole load before the forward. `*_elsewhere`: the same waits, in a
        thread that launches nothing.
    event: what the load records for index-K: the layer's event behind all its pools, or one of its own.
    index_k_first: whether index-K is copied before the other pools of its layer.
    ring_depth: event sets, so loads that may be in flight.
    """

    wait: IndexWait = "none"
    host: HostWait = "none"
    event: IndexEvent = "layer"
    index_k_first: bool = False
    ring_depth: int = RING_DEPTH


REMEDIES: Mapping[RemedyName, Remedy] = {
    "none": Remedy(),
    "one_read_path": Remedy(wait="every_read"),
    "event_per_pool": Remedy(wait="accessor", event="own"),
    "index_k_first": Remedy(index_k_first=True),
    "index_k_first_own_event": Remedy(wait="accessor", event="own", index_k_first=True),
    "ring_of_one": Remedy(wait="accessor", ring_depth=1),
    "host_gate": Remedy(host="layer"),
    "host_sync": Remedy(host="load"),
    "gate_layer_before": Remedy(wait="layer_before"),
    "gate_behind_the_read": Remedy(wait="behind_the_read"),
    "gate_one_of_two": Remedy(wait="second_accessor"),
    "gate_another_stream": Remedy(wait="another_stream"),
    "record_before_the_copy": Remedy(wait="accessor", event="own_before_the_copy"),
    "host_asks_once": Remedy(host="asks_once"),
    "host_gate_elsewhere": Remedy(host="layer_elsewhere"),
    "host_sync_elsewhere": Remedy(host="load_elsewhere"),
}


def remedy_named(name: RemedyName) -> Remedy:
    """Raises: ConfigError for a remedy that does not exist."""
    if name not in REMEDIES:
        raise ConfigError(f"unknown remedy '{name}'", key="remedy", value=name, allowed=get_args(RemedyName))
    return REMEDIES[name]
