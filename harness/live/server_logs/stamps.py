"""The time that stands in a line of a log, in whatever form the server writes it.

Owns: the forms. Does not own: which zone a time without one is in (`zones.py`). Pure. Floor 5. Source: formats as the
programs write them: SGLang `[2026-01-02 03:04:05 TP0]`, Python's logging `2026-01-02 03:04:05,678`, vLLM
`INFO 01-02 03:04:05 [file.py:12]`, glog and PyTorch `[E1218 20:27:21.426415540 file.cpp:629]`, Rust and containers
`2026-01-02T03:04:05.678Z`, syslog `Jan  2 03:04:05 host`, `dmesg -T` `[Fri Jan  2 03:04:05 2026]`, seconds since 1970.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_LOOKED_AT: Final = 240
_EPOCH_MIN_S: Final = 1_500_000_000
_EPOCH_MAX_S: Final = 4_000_000_000
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK: Final = r"(?P<hour>[0-2]\d):(?P<minute>[0-5]\d):(?P<second>[0-6]\d)(?:[.,](?P<fraction>\d{1,9}))?"

_FORMS: Final = tuple(
    re.compile(text)
    for text in (
        rf"(?<!\d)(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)[T ]{_CLOCK}\s?(?P<zone>Z\b|UTC\b|[+-]\d\d:?\d\d\b)?",
        rf"(?<!\d)(?P<day>\d\d)/(?P<name>[A-Z][a-z]{{2}})/(?P<year>20\d\d):{_CLOCK} (?P<zone>[+-]\d{{4}})",
        rf"\b(?P<name>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {_CLOCK} (?P<year>20\d\d)\b",
        rf"\b(?P<name>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {_CLOCK}",
        rf"\b[IWEF](?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d) {_CLOCK}",
        rf"\b[IWEF](?P<month>\d\d)(?P<day>\d\d) {_CLOCK}",
        rf"\b[A-Z]{{4,8}} (?P<month>\d\d)-(?P<day>\d\d) {_CLOCK}",
    )
)
_EPOCH: Final = re.compile(r"(?<![\d.])(?P<epoch>[12345]\d{9}(?:\.\d{1,9})?|[12345]\d{12})(?![\d.])")


@dataclass(frozen=True, slots=True)
class Stamp:
    """epoch_s: seconds since 1970, as if the time were UTC where has_zone is false. text: as it stands in the line."""

    epoch_s: float
    has_zone: bool
    text: str


def read_stamp(line: str, about_s: float) -> Stamp | None:
    """The first time in the beginning of a line; None where there is none.

    Args:
        about_s: an instant of the run, since 1970; a date without a year is in the year that comes nearest to it.
    """
    head = line[:_LOOKED_AT]
    found = [match for match in (form.search(head) for form in _FORMS) if match is not None]
    for match in sorted(found, key=lambda match: match.start()):
        stamp = _of_date(match.groupdict(), match[0].strip(), about_s)
        if stamp is not None:
            return stamp
    epoch = _EPOCH.search(head)
    if epoch is None:
        return None
    seconds = float(epoch["epoch"])
    seconds = seconds / 1_000 if seconds > _EPOCH_MAX_S else seconds
    return Stamp(seconds, True, epoch["epoch"]) if _EPOCH_MIN_S < seconds < _EPOCH_MAX_S else None


def _of_date(fields: dict[str, str | None], text: str, about_s: float) -> Stamp | None:
    name, month_text = fields.get("name"), fields.get("month")
    if name is not None and name not in _MONTHS:
        return None
    month = _MONTHS.index(name) + 1 if name is not None else int(month_text or 0)
    year, zone = fields.get("year"), fields.get("zone")
    nearest = datetime.fromtimestamp(about_s, UTC).year
    years = [int(year)] if year is not None else [nearest - 1, nearest, nearest + 1]
    moments = [moment for one in years if (moment := _moment(one, month, fields)) is not None]
    if not moments:
        return None
    at_s = min((moment.timestamp() for moment in moments), key=lambda moment_s: abs(moment_s - about_s))
    return Stamp(at_s - _offset_s(zone), zone is not None, text)


def _moment(year: int, month: int, fields: dict[str, str | None]) -> datetime | None:
    day, hour, minute, second = (int(fields[key] or 0) for key in ("day", "hour", "minute", "second"))
    fraction_s = float(f"0.{fields['fraction'] or 0}")
    try:
        whole = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    return whole + timedelta(seconds=fraction_s)


def _offset_s(zone: str | None) -> float:
    if zone is None or zone in ("Z", "UTC"):
        return 0.0
    digits = zone[1:].replace(":", "")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3_600 + int(digits[2:]) * 60)
