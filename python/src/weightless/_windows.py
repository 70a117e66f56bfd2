"""The engine on Windows: its named pipe, by the standard library alone.

Not yet run by us: Weightless has no mount on Windows so far. This is what its pipe will need.
"""

from __future__ import annotations

import getpass
import os
import subprocess
import time
from typing import BinaryIO, List, Optional

PROGRAM = "weightless.exe"
# A process without a console that Ctrl-C does not reach.
CREATION_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
# All instances of the pipe are taken for the moment (winerror.h), and how often to look again.
ERROR_PIPE_BUSY = 231
BUSY_PAUSE_S = 0.05


def connect(seconds: float) -> "PipeStream":
    """Connects to the engine; fails with the system's ``OSError``."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            stream = PipeStream(open(rf"\\.\pipe\weightless-{getpass.getuser()}", "r+b", buffering=0))
        except OSError as failed:
            if getattr(failed, "winerror", None) != ERROR_PIPE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(BUSY_PAUSE_S)
        else:
            stream.set_deadline(seconds)
            return stream


def left_mounts() -> bool:
    """Whether an engine that ended in no order left mounts. Where its record lies here is not settled."""
    return False


def state_dir() -> str:
    """The folder of the engine's log."""
    return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "weightless")


def program_folders() -> List[str]:
    """Where installers put programs."""
    bases = [(os.environ.get("LOCALAPPDATA"), "Programs"), (os.environ.get("PROGRAMFILES"), "")]
    return [os.path.join(base, below, "Weightless") for base, below in bases if base]


class PipeStream:
    """A named pipe opened as a file. A read that waits cannot be bounded that way, so deadlines hold between reads only."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._deadline: Optional[float] = None

    def set_deadline(self, seconds: Optional[float]) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def write(self, data: bytes) -> None:
        self._check()
        rest = memoryview(data)
        while rest:
            rest = rest[self._pipe.write(rest) :]

    def read(self) -> bytes:
        self._check()
        return self._pipe.read(1 << 16)

    def close(self) -> None:
        self._pipe.close()

    def _check(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TimeoutError("the deadline has passed")
