"""The control protocol's client: JSON-RPC 2.0, a line a message, ``hello`` first. Starts no engine and tries nothing twice.

Blocking, a connection for each call: the engine is on this machine, and a connection that lives on would be shared by accident
with forked processes.
"""

from __future__ import annotations

import json
from collections import deque
from types import TracebackType
from typing import Any, Deque, Dict, Mapping, Optional, Type

from ._errors import error, from_fault
from ._stream import Stream
from ._version import __version__

PROTOCOL_OLDEST = 1
PROTOCOL_NEWEST = 1
# The protocol's bound for a message.
MESSAGE_BYTES_MAX = 1 << 20
# Events that came while a reply was waited for; the oldest go.
EVENTS_KEPT_MAX = 256
# Of JSON-RPC errors: understood and failed, with a fault as data; no protocol in common.
FAULT = -32000
VERSION = -32001


class Secret(str):
    """A string that tracebacks with local variables do not show."""

    def __repr__(self) -> str:
        return "Secret(…)"


class Connection:
    """A connection whose version is settled."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._searched = 0
        self._last_id = 0
        self._events: Deque[Dict[str, Any]] = deque(maxlen=EVENTS_KEPT_MAX)
        self.call(
            "hello",
            client=f"weightless-python {__version__}",
            protocol_oldest=PROTOCOL_OLDEST,
            protocol_newest=PROTOCOL_NEWEST,
        )

    def call(self, method: str, **params: Any) -> Dict[str, Any]:
        """Sends a request and returns its result; what is ``None`` is left out. Raises ``WeightlessError``."""
        self._last_id += 1
        request = {
            "jsonrpc": "2.0",
            "id": self._last_id,
            "method": method,
            "params": {name: value for name, value in params.items() if value is not None},
        }
        try:
            # No variable holds the line, since it may hold a token.
            self._stream.write(json.dumps(request).encode() + b"\n")
            while True:
                message = self._message()
                if message.get("method") != "event":
                    return self._result(message)
                self._events.append(message.get("params") or {})
        except OSError as failed:
            raise _silent(failed) from failed

    def next_event(self) -> Dict[str, Any]:
        """The next event's parameters, ``lost`` and ``event``, after a ``subscribe``."""
        if self._events:
            return self._events.popleft()
        try:
            message = self._message()
        except OSError as failed:
            raise _silent(failed) from failed
        if message.get("method") != "event":
            raise _nonsense()
        return message.get("params") or {}

    def set_deadline(self, seconds: Optional[float]) -> None:
        """From now on, everything on this connection ends within ``seconds``."""
        self._stream.set_deadline(seconds)

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _result(self, message: Mapping[str, Any]) -> Dict[str, Any]:
        failed = message.get("error")
        # An error without an id answers a line that the engine could not read, which can only be ours.
        if isinstance(failed, Mapping):
            raise _refusal(failed)
        result = message.get("result")
        if message.get("id") != self._last_id or not isinstance(result, dict):
            raise _nonsense()
        return result

    def _message(self) -> Dict[str, Any]:
        try:
            message = json.loads(self._line())
        except ValueError:
            raise _nonsense() from None
        if not isinstance(message, dict):
            raise _nonsense()
        return message

    def _line(self) -> bytes:
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._buffer)
            if self._searched > MESSAGE_BYTES_MAX:
                raise _nonsense()
            piece = self._stream.read()
            if not piece:
                raise ConnectionResetError("the engine closed the connection")
            self._buffer += piece


def _refusal(failed: Mapping[str, Any]) -> Exception:
    if failed.get("code") == FAULT:
        return from_fault(failed.get("data"))
    if failed.get("code") == VERSION:
        return error(
            "protocol",
            "the engine that runs and this package speak no common protocol",
            "Update the older one; `weightless engine restart` then starts the new engine.",
        )
    return error("protocol", str(failed.get("message")))


def _nonsense() -> Exception:
    return error("protocol", "the engine answers in a way that this package does not understand")


def _silent(failed: OSError) -> Exception:
    if isinstance(failed, TimeoutError):
        return error("silent", "the engine does not answer", "`weightless doctor` may say why.")
    return error("silent", f"the connection to the engine broke: {failed}", "Try again.")
