"""Bytes to and from the engine: what ``_unix`` and ``_windows`` provide. Knows no message."""

from __future__ import annotations

from typing import Optional, Protocol


class Stream(Protocol):
    """A connection whose every operation ends by its deadline, by ``TimeoutError``."""

    def set_deadline(self, seconds: Optional[float]) -> None:
        """From now on, everything together ends within ``seconds``; ``None`` lifts that."""

    def write(self, data: bytes) -> None:
        """Sends all of it."""

    def read(self) -> bytes:
        """What has arrived, at least a byte; empty at the end."""

    def close(self) -> None:
        """Ends the connection."""
