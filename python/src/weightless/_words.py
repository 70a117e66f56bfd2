"""Figures in words, for people who watch. Knows no notebook."""

from __future__ import annotations

from typing import List, Optional, Sequence

from ._types import Stats, Status, Waiting

# What still counts as nothing: the last bytes of a second that has passed.
IDLE_RATE_MAX = 1_000


def size(count: float) -> str:
    """Bytes with three figures and a decimal unit, as disks and networks are sold: ``1.23 GB``."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        # What rounds to 1000 belongs to the next unit.
        if count < 999.5 or unit == "TB":
            break
        count /= 1000
    digits = 0 if unit == "B" else 2 if count < 9.995 else 1 if count < 99.95 else 0
    return f"{count:.{digits}f} {unit}"


def throughput(stats: Stats) -> str:
    """One line: how fast, how much, what waits."""
    total = stats.total
    is_moving = max(total.delivered_rate_1s, total.fetched_rate_1s) >= IDLE_RATE_MAX
    if is_moving:
        parts = [f"reading {size(total.delivered_rate_1s)}/s", f"network {size(total.fetched_rate_1s)}/s"]
    else:
        parts = ["idle"]
    parts.append(f"{size(total.fetched_bytes)} fetched")
    files = len(stats.files)
    if files:
        parts.append(f"{files} file{'s' * (files != 1)} open")
    waits = _waits([mount.waiting for mount in stats.mounts], is_moving)
    if waits:
        parts.append(waits)
    return "Weightless: " + " · ".join(parts)


def _waits(waiting: Sequence[Optional[Waiting]], is_moving: bool) -> str:
    """The reason that most wants to be known; that bytes are on their way is none while they arrive."""
    by_reason = {each.reason: each for each in waiting if each is not None}
    if "hub_limit" in by_reason:
        return f"the Hub asks to wait {by_reason['hub_limit'].in_s or 0} s"
    if "retry" in by_reason:
        return f"tries again in {by_reason['retry'].in_s or 0} s"
    if "budget" in by_reason:
        return "waits for memory"
    if "link" in by_reason and not is_moving:
        return "waits for the network"
    return ""


def table(status: Status) -> str:
    """What is mounted, a line each."""
    if not status.mounts:
        return "Nothing is mounted."
    rows = [("REPO", "STATE", "READ", "FETCHED", "FOLDER")]
    for mount in status.mounts:
        name = mount.repo if mount.revision == "main" else f"{mount.repo}@{mount.revision}"
        state = "paused" if mount.is_paused else mount.state
        rows.append((name, state, size(mount.bytes_delivered), size(mount.bytes_fetched), mount.dir))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines: List[str] = []
    for row, mount_fault in zip(rows, [None, *(mount.fault for mount in status.mounts)]):
        lines.append("  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[4]]))
        if mount_fault is not None:
            lines.append(f"  {mount_fault.sentence}. {mount_fault.advice}".rstrip())
    return "\n".join(lines)
