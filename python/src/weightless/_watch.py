"""The line that lives: figures from the engine, twice a second, on a thread of its own. Starts no engine and never blocks the
thread that runs cells.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Mapping

from . import _engine
from ._errors import WeightlessError
from ._types import Stats, from_json
from ._words import throughput

STATS_MS = 500
# An engine that says nothing for this long is not there; also how long a connection may take.
SILENCE_S_MAX = 5.0
# How often an engine is looked for while none runs.
LOOK_S = 1.0
# How long the end of the thread is waited for; it looks up after each event.
END_S_MAX = 2 * STATS_MS / 1000

NO_ENGINE = "Weightless: nothing is mounted"


class Watch:
    """Calls ``show`` with a line whenever it is another one, until :meth:`stop`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._shown = ""
        self._stopped = threading.Event()
        # A daemon: it ends with the process, whatever it waits for.
        self._thread = threading.Thread(target=self._run, name="weightless-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it; nothing is shown afterwards, but for a line that is on its way."""
        self._stopped.set()
        self._thread.join(END_S_MAX)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except _engine.NoEngine:
                self._say(NO_ENGINE)
            except WeightlessError as failed:
                self._say(f"Weightless: {failed.sentence}")
            self._stopped.wait(LOOK_S)

    def _follow(self) -> None:
        with _engine.connect_running(SILENCE_S_MAX) as engine:
            engine.call("subscribe", stats_ms=STATS_MS)
            while not self._stopped.is_set():
                engine.set_deadline(SILENCE_S_MAX)
                event: Mapping[str, Any] = engine.next_event().get("event") or {}
                if event.get("kind") == "stats":
                    self._say(throughput(from_json(Stats, event.get("stats"))))

    def _say(self, line: str) -> None:
        if line != self._shown and not self._stopped.is_set():
            self._shown = line
            self._show(line)
