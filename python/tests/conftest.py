"""A home of its own for each test, and an engine that says what a test wrote down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple, Union

import pytest

# A run that a script started in the background ignores interrupts, which is handed down to here and to the kernels.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No wait of a test is longer.
PATIENCE_S = 60.0

Reply = Union[Dict[str, Any], Callable[[Dict[str, Any]], Dict[str, Any]]]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's home with a runtime folder, and no Hub, token or program of the real one."""
    # Short, since the path of a socket is.
    folder = Path(tempfile.mkdtemp(prefix="wl-")).resolve()
    run = folder / "run"
    run.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(("HF_", "XDG_", "WEIGHTLESS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    yield folder
    shutil.rmtree(folder)


class FakeEngine:
    """Listens where the engine does. ``replies`` by method: a result, or a function of the parameters."""

    def __init__(self, home: Path, name: str = "engine.sock") -> None:
        self.path = home / "run/weightless" / name
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        self.replies: Dict[str, Reply] = {"hello": {"protocol": 1, "version": "9.9.9", "pid": 7}}
        # What came: methods and their parameters.
        self.told: List[Tuple[str, Dict[str, Any]]] = []
        # By method: bytes instead of a reply, and events before it.
        self.raw: Dict[str, bytes] = {}
        self.events: Dict[str, List[Any]] = {}
        self.connections: List[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def params(self, method: str) -> Dict[str, Any]:
        """What the last request of this method asked for."""
        return next(params for name, params in reversed(self.told) if name == method)

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            # Closing alone does not wake an accept.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Ends every connection."""
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                for line in lines:
                    self._answer(connection, json.loads(line))
            except OSError:
                pass

    def _answer(self, connection: socket.socket, request: Dict[str, Any]) -> None:
        method, params = request["method"], request["params"]
        self.told.append((method, params))
        if method in self.raw:
            connection.sendall(self.raw[method])
            return
        for event in self.events.get(method, ()):
            notification = {"jsonrpc": "2.0", "method": "event", "params": {"lost": 0, "event": event}}
            connection.sendall(json.dumps(notification).encode() + b"\n")
        reply: Dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if method in self.replies:
            chosen = self.replies[method]
            try:
                reply["result"] = chosen(params) if callable(chosen) else chosen
            except Refuse as refused:
                reply["error"] = {"code": -32000, "message": "m", "data": refused.fault}
        else:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        connection.sendall(json.dumps(reply).encode() + b"\n")


class Refuse(Exception):
    """What a reply's function raises to answer with a fault."""

    def __init__(self, code: str, sentence: str = "no", **more: Any) -> None:
        super().__init__(code)
        self.fault = {"code": code, "sentence": sentence, **more}


@pytest.fixture
def engine(home: Path) -> Iterator[FakeEngine]:
    """An engine that runs."""
    fake = FakeEngine(home)
    yield fake
    fake.close()


def mount_status(folder: str, repo: str = "org/model", **more: Any) -> Dict[str, Any]:
    """A mount as the engine tells of it."""
    return {"repo": repo, "revision": "main", "commit": "c" * 40, "dir": folder, "state": "ready", **more}
