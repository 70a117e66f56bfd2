"""The line of throughput and the table, as people see them."""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest

from weightless import FileStats, MountStats, MountStatus, Stats, Status, Traffic, Waiting
from weightless._types import Fault
from weightless._words import size, table, throughput


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (9_996, "10.0 kB"),
        (99_960, "100 kB"),
        (999_400, "999 kB"),
        (999_600, "1.00 MB"),
        (84_200_000, "84.2 MB"),
        (1_234_000_000, "1.23 GB"),
        (10**16, "10000 TB"),
    ],
)
def test_sizes_have_three_figures(count: int, words: str) -> None:
    assert size(count) == words


def test_the_line_says_how_fast_how_much_and_what_waits() -> None:
    def check(words: str, waiting: Optional[Waiting] = None, files: int = 0, **traffic: Any) -> None:
        stats = Stats(
            total=Traffic(fetched_bytes=5_000_000, **traffic),
            mounts=(MountStats(), MountStats(waiting=waiting)),
            files=(FileStats(),) * files,
        )
        assert throughput(stats) == f"Weightless: {words}"

    fast: Dict[str, Any] = {"delivered_rate_1s": 120_000_000, "fetched_rate_1s": 84_200_000}
    check("idle · 5.00 MB fetched")
    check("idle · 5.00 MB fetched · 1 file open", files=1)
    check("reading 120 MB/s · network 84.2 MB/s · 5.00 MB fetched · 3 files open", files=3, **fast)
    check("reading 120 MB/s · network 84.2 MB/s · 5.00 MB fetched", Waiting("link"), **fast)
    check("idle · 5.00 MB fetched · waits for the network", Waiting("link"))
    check("idle · 5.00 MB fetched · waits for memory", Waiting("budget"))
    check("idle · 5.00 MB fetched · tries again in 3 s", Waiting("retry", 3))
    check("idle · 5.00 MB fetched · the Hub asks to wait 40 s", Waiting("hub_limit", 40))
    check("idle · 5.00 MB fetched", Waiting("newer"))


def test_the_table_shows_a_mount_a_line() -> None:
    assert table(Status()) == "Nothing is mounted."
    mounts = (
        MountStatus(repo="a/b", revision="main", state="ready", bytes_delivered=1_000, bytes_fetched=2_000, dir="/m/a b"),
        MountStatus(repo="a/c", revision="v1", state="failed", dir="/m/c", fault=Fault("offline", "no Hub", "Wait.")),
        MountStatus(repo="a/d", revision="main", state="ready", is_paused=True, dir="/m/d"),
    )
    assert table(Status(mounts=mounts)).splitlines() == [
        "REPO    STATE   READ     FETCHED  FOLDER",
        "a/b     ready   1.00 kB  2.00 kB  /m/a b",
        "a/c@v1  failed  0 B      0 B      /m/c",
        "  no Hub. Wait.",
        "a/d     paused  0 B      0 B      /m/d",
    ]
