"""The engine on systems with Unix sockets: where it listens, where its log is."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from typing import List, Optional

from ._errors import error

# Only `_windows` is looked at there, by type checkers too.
assert sys.platform != "win32"

PROGRAM = "weightless"
# How a process of its own session is made is the engine's matter here.
CREATION_FLAGS = 0
# The engine's record names each mount in a line or two; what is longer is none.
RECORD_BYTES_MAX = 1 << 20


def connect(seconds: float) -> "SocketStream":
    """Connects to the engine; fails with the system's ``OSError``."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect(os.path.join(runtime_dir(), "engine.sock"))
    except BaseException:
        sock.close()
        raise
    stream = SocketStream(sock)
    stream.set_deadline(seconds)
    return stream


def left_mounts() -> bool:
    """Whether an engine that ended in no order left mounts: its record names them."""
    try:
        with open(os.path.join(runtime_dir(), "engine.json"), "rb") as record:
            return bool(json.loads(record.read(RECORD_BYTES_MAX))["mounts"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def state_dir() -> str:
    """The folder of the engine's log."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/weightless")
    base = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "weightless")


def program_folders() -> List[str]:
    """Where installers put programs."""
    home = os.path.expanduser("~")
    folders = [os.path.join(home, ".local/bin"), os.path.join(home, ".cargo/bin"), "/usr/local/bin", "/usr/bin"]
    if sys.platform == "darwin":
        apps = [os.path.join(base, "Applications/Weightless.app/Contents/MacOS") for base in ("/", home)]
        return [*folders, "/opt/homebrew/bin", *apps]
    return folders


class SocketStream:
    """A Unix socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._deadline: Optional[float] = None

    def set_deadline(self, seconds: Optional[float]) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def write(self, data: bytes) -> None:
        self._sock.settimeout(self._left())
        try:
            self._sock.sendall(data)
        except socket.timeout as late:
            raise _late() from late

    def read(self) -> bytes:
        self._sock.settimeout(self._left())
        try:
            return self._sock.recv(1 << 16)
        except socket.timeout as late:
            raise _late() from late

    def close(self) -> None:
        self._sock.close()

    def _left(self) -> Optional[float]:
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        # A timeout of 0 would mean "do not block", with another error.
        if left <= 0:
            raise _late()
        return left


def _late() -> TimeoutError:
    # Before Python 3.10 `socket.timeout` is a class of its own.
    return TimeoutError("the deadline has passed")


def runtime_dir() -> str:
    """The folder of the control socket: ``$XDG_RUNTIME_DIR/weightless``, or ``/tmp/weightless-UID`` where there is none.

    Whoever could write there could play the engine and be sent a token, so a folder that is not this user's alone is refused.
    It need not exist.
    """
    uid = os.geteuid()
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = os.path.join(base, "weightless") if _is_ours(base, uid) else f"/tmp/weightless-{uid}"
    try:
        # Not `stat`: a link planted in /tmp must not lead elsewhere.
        found = os.lstat(folder)
    except FileNotFoundError:
        return folder
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or found.st_mode & 0o077:
        raise error(
            "io",
            f"{folder}: this folder is not yours alone, so it is not used for control sockets",
            "Remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700.",
        )
    return folder


def _is_ours(base: str, uid: int) -> bool:
    """Whether the variable means this user: `sudo` and `su` may leave another's behind."""
    try:
        found = os.stat(base)
    except OSError:
        return False
    return os.path.isabs(base) and stat.S_ISDIR(found.st_mode) and found.st_uid == uid
