"""The audit in words: one line that says it, then the table of pools, then what the verdict leaves out.

Owns: wording and layout. Does not own: figures. Floor 5. Source: ours.
Bytes per token are under-counted, so tokens are over-granted, so memory is over-committed: never the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.audit.amounts import gigabytes
from harness.audit.server_info import ServerQuestion
from harness.audit.sglang_formula import ASSUMED, Comparison
from kernels.hicache.audit.judgement import Audit

_LABEL = 10


def audit_text(audit: Audit, command: str) -> str:
    """The answer to a preset's question."""
    return _whole(audit, headline(audit), [], command)


def server_text(audit: Audit, server: ServerQuestion, command: str) -> str:
    """The same for a server's own token count."""
    memory, tokens = audit.question.memory_bytes, audit.tokens
    allocated = sum(cost.allocated_bytes for cost in audit.costs)
    lines = [
        _row("server", f"{server.source}, SGLang {server.version}: {tokens:,} tokens in {gigabytes(memory)}"),
        _row("", f"that is {audit.implied_per_token:,.2f} B per full token, and its pools allocate {allocated:,.2f}"),
        *(_row("assumed", note) for note in server.notes),
    ]
    return _whole(audit, server_headline(audit), lines, command)


def headline(audit: Audit) -> str:
    """The first line: the verdict and its figures."""
    memory = gigabytes(audit.question.memory_bytes)
    if audit.is_over_committed:
        return (
            f"OVER-COMMITTED by {gigabytes(audit.over_commit_bytes)} ({_share(audit.over_commit_bytes, audit)} of"
            f" {memory}): bytes per token are under-counted by {audit.under_count_per_token:,.1f}, so tokens are"
            " over-granted"
        )
    if audit.under_count_per_token < 0:
        wasted = -audit.under_count_per_token
        return f"FITS {memory}, with room to spare: bytes per token are over-counted by {wasted:,.1f}"
    rest = audit.beyond_memory_bytes
    if rest:
        return f"FITS {memory} by the formula's terms; page padding, which it leaves out, takes {gigabytes(rest)} more"
    return f"FITS {memory}: every byte that is allocated is counted"


def server_headline(audit: Audit) -> str:
    memory, tokens = gigabytes(audit.question.memory_bytes), f"{audit.tokens:,} tokens"
    if audit.is_over_committed:
        over = f"{gigabytes(audit.over_commit_bytes)} ({_share(audit.over_commit_bytes, audit)})"
        return f"OVER-COMMITTED by {over}: {tokens} do not fit {memory}"
    if audit.beyond_memory_bytes:
        return f"FITS {memory}: {tokens}; only page padding goes {gigabytes(audit.beyond_memory_bytes)} beyond it"
    return f"FITS {memory}: {tokens}"


def comparison_text(found: Comparison, command: str) -> str:
    """SGLang's formula against the pools, with the place of each difference."""
    geometry, formats = found.geometry, found.formats
    lines = [comparison_headline(found), ""]
    lines += [_row("for", f"{geometry.name}, index-K {formats.index_k}, {geometry.page_tokens}-token pages")]
    lines += [_row("assumed", ASSUMED), ""]
    rows = [["pool", "layers", "SGLang counts", "slots take", "padding", "not counted", "counted in"]]
    for term in found.terms:
        cost = term.cost
        figures = (term.sglang_bytes, cost.stored_bytes, cost.padding_bytes, term.difference_bytes)
        places = term.function.place if term in found.differences else ""
        rows.append([term.kind, str(cost.layer_count), *(f"{figure:,.2f}" for figure in figures), places])
    lines += _columns(rows, left=(0, 6))
    if found.entries:
        entries = ", ".join(f"{name} {size}" for name, size in found.entries.items())
        lines += ["", _row("index-K", f"SGLang's own pool gives an entry {entries} bytes; bf16 needs 256")]
    lines += ["", *(_row("read" if index == 0 else "", each.place) for index, each in enumerate(found.read))]
    return "\n".join([*lines, "", _row("repeat", command)])


def comparison_headline(found: Comparison) -> str:
    version = f"SGLang {found.version}"
    if found.under_count_bytes > 0:
        pools = ", ".join(term.kind for term in found.terms if term.under_count_bytes > 0)
        return (
            f"UNDER-COUNTS by {found.under_count_bytes:,.2f} B per full token ({pools}): {version} counts"
            f" {found.sglang_bytes:,.2f}"
        )
    if not found.differences:
        return f"AGREES: {version} counts {found.sglang_bytes:,.2f} B per full token, which is what is allocated"
    beyond = sum(term.difference_bytes for term in found.differences)
    what = f"{beyond:,.2f} B of page padding not counted" if beyond > 0 else f"{-beyond:,.2f} B more than is allocated"
    return f"AGREES but for {what}: {version} counts {found.sglang_bytes:,.2f} B per full token"


def _whole(audit: Audit, first: str, extra: Sequence[str], command: str) -> str:
    question = audit.question
    geometry, rules = question.geometry, question.rules
    counted = "as allocated" if question.formula == "allocated" else f"by the {question.formula} formula"
    window = f", window ratio {question.swa_ratio:.3g}" if geometry.has_window else ""
    lines = [first, "", *extra]
    lines += [
        _row("for", f"{geometry.name}, index-K {question.formats.index_k}, {geometry.page_tokens}-token pages{window}"),
        _row("counted", f"{counted}, rules of SGLang {rules.name}: {audit.counted_per_token:,.2f} B per full token"),
        _row("granted" if question.tokens is None else "has", f"{audit.tokens:,} tokens, {_weights(audit)}"),
        "",
        *_columns(_table(audit)),
        "",
        *_rest(audit),
        *_failure(audit),
    ]
    return "\n".join([*lines, "", _row("repeat", command)])


def _weights(audit: Audit) -> str:
    return f"whose pools take {gigabytes(audit.allocated_bytes)} of {gigabytes(audit.question.memory_bytes)}"


def _table(audit: Audit) -> list[list[str]]:
    """One line a pool: bytes per full token over its layers, and its size in all."""
    sizes = {pool.kind: pool.size_bytes for pool in audit.pools}
    rows = [["pool", "layers", "B/token counted", "slots", "padding", "allocated", "under-count", "in all"]]
    sums = [0.0] * 5
    for cost in audit.costs:
        figures = (
            cost.by_formula_bytes,
            cost.stored_bytes,
            cost.padding_bytes,
            cost.allocated_bytes,
            cost.under_count_bytes,
        )
        sums = [total + figure for total, figure in zip(sums, figures, strict=True)]
        shown = [f"{figure:,.2f}" for figure in figures]
        size = gigabytes(sizes[cost.kind]) if sizes[cost.kind] else "apart"
        rows.append([cost.kind, str(cost.layer_count), *shown, size])
    return [*rows, ["sum", "", *(f"{total:,.2f}" for total in sums), gigabytes(audit.allocated_bytes)]]


def _rest(audit: Audit) -> list[str]:
    """What the verdict leaves out, each with its size."""
    lines = []
    if audit.padding_per_token:
        by_pool = ", ".join(f"{cost.kind} {cost.padding_bytes:,.1f}" for cost in audit.costs if cost.padding_bytes)
        size = gigabytes(audit.padding_bytes)
        lines.append(_row("padding", f"{audit.padding_per_token:,.1f} B per token ({by_pool}) not counted: {size}"))
    if audit.idle_state_per_token:
        idle = f"{audit.idle_state_per_token:,.1f} B per token of c4 states are counted and allocated, but idle:"
        lines.append(_row("states", f"{idle} a ring per 128 tokens, where a page uses one"))
    if audit.request_slot_bytes:
        per_request = f"c128 states go by request, {gigabytes(audit.request_slot_bytes)} each"
        aside = f"{gigabytes(audit.request_state_bytes)} set aside" if audit.question.requests else "not in these sums"
        lines.append(_row("states", f"{per_request}: {aside}"))
    lines.append(_row("page 0", f"of each pool is kept for padded tokens: {gigabytes(audit.reserved_page_bytes)}"))
    return lines


def _failure(audit: Audit) -> list[str]:
    failure = audit.failure
    if failure is None:
        return []
    needs = f"needs {gigabytes(failure.needed_bytes)}, {gigabytes(failure.left_bytes)} are left"
    return [
        _row("fails", f"{failure.kind} of layer {failure.layer} is the first allocation past the memory: {needs}"),
        _row("", "on a device it takes what mem_fraction_static leaves free, and a forward runs out instead"),
    ]


def _share(part: int, audit: Audit) -> str:
    return f"{100 * part / audit.question.memory_bytes:.1f} %"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}".rstrip()


def _columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    """Figures stand to the right, words, in the columns `left`, to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        pairs = enumerate(zip(row, widths, strict=True))
        cells = [f"{cell:<{width}}" if column in left else f"{cell:>{width}}" for column, (cell, width) in pairs]
        lines.append("  ".join(cells).rstrip())
    return lines
