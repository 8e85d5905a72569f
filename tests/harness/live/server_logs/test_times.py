"""Times in every form that servers write, and the zone of those that do not say theirs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from harness.live.server_logs.stamps import read_stamp
from harness.live.server_logs.zones import ZoneGuess, zone_offset_s
from kernels.errors import ConfigError

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "after_s", "has_zone"),
    [
        ("[2026-01-02 03:04:05 TP0] x", 0, False),
        ("[2026-01-02 03:04:05.250 DP0 TP1] x", 0.25, False),
        ("2026-01-02 03:04:05,678 - root - x", 0.678, False),
        ("(EngineCore_DP0 pid=143) WARNING 01-02 03:04:05 [worker.py:116] x", 0, False),
        ("INFO 12-31 23:59:59 [x.py:1] x", -97_446, False),
        ("[rank0]:[E0102 03:04:05.500000000 ProcessGroupNCCL.cpp:629] x", 0.5, False),
        ("W20260102 03:04:05.5 17 x.cc:3] x", 0.5, False),
        ("2026-01-02T03:04:05.5Z  INFO dynamo: x", 0.5, True),
        ("2026-01-02T05:04:05.5+02:00 x", 0.5, True),
        ("2026-01-01T22:04:05-0500 x", 0, True),
        ('{"time":"2026-01-02T03:04:05.5Z","level":"ERROR"}', 0.5, True),
        ('127.0.0.1 - - [02/Jan/2026:04:04:05 +0100] "GET / HTTP/1.1"', 0, True),
        ("Jan  2 03:04:05 box kernel: x", 0, False),
        ("[Fri Jan  2 03:04:05 2026] x", 0, False),
        ("1767323045.25 x", 0.25, True),
        ("ts=1767323045250 x", 0.25, True),
        ("2026-01-02T03:04:05.5Z stdout F [2026-01-02 01:04:05 TP0] x", 0.5, True),
    ],
)
def test_time_of_a_line(line: str, after_s: float, has_zone: bool) -> None:
    found = read_stamp(line, AT.timestamp())
    assert found is not None
    assert found.epoch_s - AT.timestamp() == pytest.approx(after_s, abs=1e-5)
    assert found.has_zone is has_zone
    assert found.text in line


@pytest.mark.parametrize(
    "line", ["", "[12345.678901] uptime", "2026-13-45 99:99:99", "id 123456789012345678", "Foo  2 03:04:05", "v1.2.3"]
)
def test_no_time(line: str) -> None:
    assert read_stamp(line, AT.timestamp()) is None


def test_a_date_without_a_year_is_in_the_year_of_the_run() -> None:
    new_year = datetime(2027, 1, 1, 0, 0, 10, tzinfo=UTC).timestamp()
    found = read_stamp("INFO 12-31 23:59:55 [x.py:1]", new_year)
    assert found is not None
    assert new_year - found.epoch_s == 15
    leap = read_stamp("INFO 02-29 12:00:00 [x.py:1]", datetime(2028, 3, 1, tzinfo=UTC).timestamp())
    assert leap is not None
    assert datetime.fromtimestamp(leap.epoch_s, UTC).year == 2028


@pytest.mark.parametrize("hours", [-9.5, -5, 0, 2, 5.75, 14])
def test_zone_shows_in_the_arrival(hours: float) -> None:
    guess = ZoneGuess()
    assert guess.offset_s is None
    for number in range(20):
        arrived = AT + timedelta(seconds=number)
        # Written up to three seconds before it was read.
        guess.saw((arrived + timedelta(hours=hours) - timedelta(seconds=number % 4)).timestamp(), arrived.timestamp())
    assert guess.offset_s == hours * 3_600
    assert not guess.needs_more
    assert "as their arrival shows" in guess.words()


def test_old_lines_show_no_zone() -> None:
    guess = ZoneGuess()
    guess.saw(AT.timestamp() - 7 * 60, AT.timestamp())
    assert guess.offset_s is None
    assert ZoneGuess(7_200.0).offset_s == 7_200.0
    assert not ZoneGuess(7_200.0).needs_more


def test_zone_by_name() -> None:
    assert [zone_offset_s(text, AT) for text in ("utc", "Z", "+02:00", "-0930")] == [0, 0, 7_200, -34_200]
    local = AT.astimezone().utcoffset()
    assert local is not None
    assert zone_offset_s("local", AT) == local.total_seconds()
    for text in ("Berlin", "+25:00", "+2", ""):
        with pytest.raises(ConfigError, match="--log-zone"):
            zone_offset_s(text, AT)
