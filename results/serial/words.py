"""The serial check in words: lines for the screen, rows for the reports.

Owns: the sentences. Does not own: the record. Pure. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter

from results.findings import Verdict
from results.report.words import harmless, percent, percent_interval, plural
from results.serial.record import BaseRate, Freshness, SerialRecord, Share

VERDICT_WORDS = {
    Verdict.OK: "OK",
    Verdict.VIOLATED: "CORRUPT",
    Verdict.NUMERIC: "NUMERIC",
    Verdict.UNKNOWN: "UNKNOWN",
}
_FRESHNESS_WORDS = {
    Freshness.FLUSHED: "the cache was emptied before each",
    Freshness.SALTED: "each had a salt of its own, to keep it apart from the rest of the cache",
    Freshness.KEPT: "the cache was as the load had left it",
}


def serial_rows(record: SerialRecord | None, said: str = "") -> list[tuple[str, str]]:
    """Label and text of each line of the screen. said: what stands there already."""
    if record is None:
        return []
    reason = "as said above" if record.reason in said else record.reason
    rows = [("alone", f"{VERDICT_WORDS[record.verdict]}: {reason}")]
    if record.base_rate is not None and not record.is_trusted:
        rows.append(("base rate", rate_words(record.base_rate)))
    rows.append(("asked again", asked_words(record)))
    return [(label, harmless(text)) for label, text in rows]


def facts_of(record: SerialRecord) -> list[tuple[str, str]]:
    """Everything that is no table of turns."""
    noise = "not known"
    if record.noise_nats is not None:
        noise = f"{record.noise_nats:.3g} nats over {record.noise_tokens:,} tokens"
    facts = [
        ("verdict", f"{VERDICT_WORDS[record.verdict]}: {record.reason}"),
        ("asked again", asked_words(record)),
        ("wrong turns of the run", f"{record.wrong}, of which {record.wrong_asked} were asked again and "
         f"{record.wrong_alone} are wrong alone as well"),
        ("replies that differ", f"{record.load_differs} between load and alone, {record.serial_differs} between the "
         f"two passes alone, {record.load_repeats_differ} between the two loads"),
        ("noise floor of log-probabilities", noise),
        ("was it quiet?", record.quiet),
        ("re-scored", record.rescoring),
    ]  # fmt: skip
    if record.base_rate is not None and not record.is_trusted:
        facts.insert(1, ("base rate", rate_words(record.base_rate)))
    return facts


def asked_words(record: SerialRecord) -> str:
    """How many, how, and how it ended."""
    counts = Counter(turn.verdict for turn in record.turns)
    shown = ", ".join(f"{counts[verdict]} {word}" for verdict, word in VERDICT_WORDS.items() if counts[verdict])
    text = (
        f"{plural(len(record.turns), 'turn')} ({shown or 'none'}), {record.sampled} of them by chance, alone twice and "
    )
    text += f"all at once: {plural(record.requests, 'request')} in {record.wall_s:,.1f} s; "
    text += _FRESHNESS_WORDS[record.freshness]
    return text if record.ended_by is None else f"{text}; ended early: {record.ended_by}"


def rate_words(rate: BaseRate) -> str:
    excess = f"{100 * rate.excess:+.1f} points ({100 * rate.excess_low:+.1f} to {100 * rate.excess_high:+.1f})"
    return f"under load {_share(rate.loaded)} wrong, alone {_share(rate.alone)}; over the same turns, excess {excess}"


def _share(share: Share) -> str:
    return f"{percent(share.rate)} ({percent_interval(share.low, share.high)})"
