"""The catalogue of fixes: what one could do about the missing gate, and what we expect each of them to be.

Owns: names, sentences and expectations, and which settings each one changes. Does not own: doing it
(`kernels/hicache/remedy.py`), judging it (`harness.remedies`: a run decides, and the tests hold this page to it).
Floor 4. Source: SGLang PR 22811 and 0.5.23; facts/sglang.md sections 0-2; facts/concurrency.md section 6; of the
reverted attempt the incident's report says only that it was wrong: which gate it was is our reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernels.errors import ConfigError

PROGRAMS = "scenarios/fixes/ring_of_one.py"


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix.

    does: in one clause. is_fix: whether we expect it to hold. why: in one sentence, why it is one, or is not.
    cost: in words; the figures come from runs. changes: settings of the scenario that it changes.
    programs: for what the cache cannot show, two functions of `PROGRAMS` instead: without it, and with it.
    """

    name: str
    does: str
    is_fix: bool
    why: str
    cost: str
    changes: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[str, str] | None = None


def _remedy(name: str) -> Mapping[str, str]:
    return {"cache.remedy": name}


FIXES: tuple[Fix, ...] = (
    Fix(
        "gate_index_k",
        "the index-K accessor makes its stream wait for the layer, as the main KV accessor does",
        True,
        "the wait stands before the read, on its stream, and is bound to a record behind the copy",
        "the stream's time until the copy has ended; next to none where the load is ahead",
        {"cache.gate_index_k": "true"},
    ),
    Fix(
        "one_read_path",
        "all pools of a layer are handed out in one place, and that place waits",
        True,
        "no accessor can forget the gate, because none takes it: also one that is written next year",
        "as gate_index_k; a pool that is read early waits early",
        _remedy("one_read_path"),
    ),
    Fix(
        "event_per_pool",
        "the load records an event behind each layer's index-K copy, and the index-K accessor waits for that one",
        True,
        "the wait stands before the read, and the record directly behind the copy that it needs",
        "one event more a layer; the indexer need not wait for the pools that are copied behind index-K",
        _remedy("event_per_pool"),
    ),
    Fix(
        "index_k_first_own_event",
        "index-K is copied first in its layer, with an event of its own, and its accessor waits for that",
        True,
        "as event_per_pool; the copy that is needed first also ends first",
        "one event more a layer; the shortest wait of all gates",
        _remedy("index_k_first_own_event"),
    ),
    Fix(
        "host_gate",
        "the thread that launches blocks before each index-K read until the layer's load has ended",
        True,
        "what a thread launches follows all that the thread has waited for",
        "the host's time: the launches of a layer no longer run ahead of the device",
        _remedy("host_gate"),
    ),
    Fix(
        "host_sync",
        "the thread that launches blocks until the whole load has ended, and only then launches the forward",
        True,
        "what a thread launches follows all that the thread has waited for",
        "the overlap of load and compute, all of it",
        _remedy("host_sync"),
    ),
    Fix(
        "fused_store",
        "new index-K rows are stored by the fused kernel, whose getter waits, on the stream, just before the read",
        True,
        "the read follows another accessor's wait: ordered today, and one edit away from the race",
        "none, and none of the gate's safety: the read has no wait of its own",
        {"cache.index_k_store": "fused"},
    ),
    Fix(
        "ring_of_one",
        "the gate is put in, and the ring of three event sets is cut down to one",
        True,
        "a load's records are issued before the waits of its forward, so one set names them as well as three",
        "the overlap of loads: the next one cannot be issued before the last one has ended",
        _remedy("ring_of_one"),
    ),
    Fix(
        "cache_off",
        "the host tier is switched off",
        True,
        "without a load there is nothing that a read could be ahead of",
        "the host tier's hits: what was evicted is computed again",
        {"cache.hicache": "false"},
    ),
    Fix(
        "fp8_back",
        "index-K is stored as fp8 again, half the bytes",
        False,
        "the copy is shorter, so the read is less often ahead of it; nothing orders the two",
        "the precision that bf16 was wanted for",
        {"cache.index_k": "fp8"},
    ),
    Fix(
        "index_k_first",
        "index-K is copied first in its layer, and nobody waits for it",
        False,
        "copied first is not copied before it is read: an order of copies is no order between copy and read",
        "none",
        _remedy("index_k_first"),
    ),
    Fix(
        "gate_layer_before",
        "the index-K accessor waits for the event of the layer before",
        False,
        "the record that it waits for is in front of this layer's copy, so it does not cover it",
        "a wait that helps nobody",
        _remedy("gate_layer_before"),
    ),
    Fix(
        "gate_behind_the_read",
        "the wait is put in behind the launch of the index-K read",
        False,
        "a stream runs in order: what is enqueued behind the read cannot hold it back",
        "a wait that the attention takes anyway",
        _remedy("gate_behind_the_read"),
    ),
    Fix(
        "gate_one_of_two",
        "index-K is fetched by two accessors, keys and then scales, and only the second gets the gate",
        False,
        "the first accessor reads the same pages, and it still has no wait in front of it",
        "as gate_index_k",
        _remedy("gate_one_of_two"),
    ),
    Fix(
        "first_attempt",
        "the accessor gets its gate, but the wait goes to the stream that is current there, which is not the reader's",
        False,
        "a wait holds back the stream that it is enqueued on, and that is not the one that reads",
        "waits on a stream that did not need them",
        _remedy("gate_another_stream"),
    ),
    Fix(
        "record_before_the_copy",
        "index-K gets an event of its own, but it is recorded in front of the copy",
        False,
        "a record covers what is in front of it: this one says that the layer's copy may begin, not that it has ended",
        "one event more a layer",
        _remedy("record_before_the_copy"),
    ),
    Fix(
        "host_asks_once",
        "the thread that launches asks once whether the layer has arrived, and goes on",
        False,
        "a query that says no orders nothing, and here the answer is not waited for",
        "one query a layer",
        _remedy("host_asks_once"),
    ),
    Fix(
        "host_gate_elsewhere",
        "a second host thread waits for each layer; the thread that launches does not",
        False,
        "a host wait orders the thread that waits, and that one launches nothing",
        "a thread",
        _remedy("host_gate_elsewhere"),
    ),
    Fix(
        "host_sync_elsewhere",
        "a second host thread waits for the whole load; the thread that launches does not",
        False,
        "a synchronize orders the thread that calls it, however much it waits for",
        "a thread",
        _remedy("host_sync_elsewhere"),
    ),
    Fix(
        "ring_of_one_late_records",
        'one event set, in an engine whose loader says "go" before it has recorded',
        False,
        "the wait is issued before the record, so it is bound to the previous load's; more sets would not help",
        "none",
        programs=("records_first", "program"),
    ),
)


def fix_named(name: str) -> Fix:
    """Raises: ConfigError with the names that there are."""
    found = next((fix for fix in FIXES if fix.name == name), None)
    if found is None:
        names = tuple(fix.name for fix in FIXES)
        raise ConfigError(f"unknown fix '{name}'", key="--fix", value=name, allowed=names)
    return found
