"""Reaches the user's engine, and starts it where it is needed. Never ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import IO, List, Optional

from ._binary import find_binary
from ._control import MESSAGE_BYTES_MAX, Connection
from ._errors import EngineSilent, WeightlessError, error, from_fault

if sys.platform == "win32":
    from . import _windows as _system
else:
    from . import _unix as _system

# How long an engine may take to start; it asks nobody for that.
START_S_MAX = 20.0
# An engine that runs says hello in a millisecond, however busy it is with other things.
HELLO_S_MAX = 10.0
# How often the engine is started before it is given up: one may end at the moment that it is asked.
START_TRIES = 3
# What the Hub's own tools take a token from.
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class NoEngine(Exception):
    """None runs, or one is just ending."""


def connect(seconds: float) -> Connection:
    """The user's engine, started if it does not run; everything on the connection ends within ``seconds``."""
    for _ in range(START_TRIES):
        try:
            return connect_running(seconds)
        except NoEngine:
            start()
    try:
        return connect_running(seconds)
    except NoEngine:
        raise error("silent", "the engine ends as soon as it has started", f"Its log: {log_path()}") from None


def connect_if_needed(seconds: float) -> Optional[Connection]:
    """The user's engine if it runs, or if one that died left mounts, which the next one brings back."""
    try:
        return connect_running(seconds)
    except NoEngine:
        return connect(seconds) if _system.left_mounts() else None


def connect_running(seconds: float) -> Connection:
    """The user's engine, or ``NoEngine``."""
    try:
        stream = _system.connect(min(seconds, HELLO_S_MAX))
    except (FileNotFoundError, ConnectionError) as failed:
        raise NoEngine from failed
    except OSError as failed:
        raise error("silent", f"the engine cannot be reached: {failed}") from failed
    try:
        connection = Connection(stream)
        connection.set_deadline(seconds)
        return connection
    except EngineSilent as failed:
        stream.close()
        if isinstance(failed.__cause__, ConnectionError):
            raise NoEngine from failed
        raise
    except BaseException:
        stream.close()
        raise


def start() -> List[str]:
    """Starts the engine and waits until one answers. What there is to say of the start, a sentence each."""
    program = find_binary()
    log = log_path()
    os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
    with open(os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600), "ab") as log_file:
        try:
            process = subprocess.Popen(
                [program, "engine", "--background"],
                # The token of this process is no other's: a mount sends its own along.
                env={name: value for name, value in os.environ.items() if name not in _TOKENS},
                # So that it keeps no folder busy.
                cwd=os.path.abspath(os.sep),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log_file,
                creationflags=_system.CREATION_FLAGS,
            )
        except OSError as failed:
            raise error("io", f"{program}: {failed.strerror}") from failed
    # It lives on, and would be left as a zombie if nobody waited for its end.
    threading.Thread(target=process.wait, name="weightless-engine-end", daemon=True).start()
    assert process.stdout is not None
    return _report(process.stdout, log)


def log_path() -> str:
    """The engine's log."""
    return os.path.join(_system.state_dir(), "engine.log")


def _report(pipe: "IO[bytes]", log: str) -> List[str]:
    """The one line that an engine in the background says: ``{"ready": [note…]}`` or ``{"failed": fault}``."""
    lines: List[bytes] = []

    def read() -> None:
        with pipe:
            lines.append(pipe.readline(MESSAGE_BYTES_MAX))

    reader = threading.Thread(target=read, name="weightless-engine-start", daemon=True)
    reader.start()
    reader.join(START_S_MAX)
    advice = f"Its log: {log}"
    if not lines:
        raise error("silent", f"the engine is not ready within {START_S_MAX:.0f} s", advice)
    try:
        report = json.loads(lines[0])
        if "failed" in report:
            raise from_fault(report["failed"])
        return [str(note) for note in report["ready"]]
    except (ValueError, KeyError, TypeError):
        raise WeightlessError("internal", "the engine ended before it was ready", advice) from None
