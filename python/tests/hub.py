"""The Hub on loopback that the product's own tests use, and what crosses its network."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any, Dict

# Read now, since each test has an environment of its own.
PROGRAM = os.environ.get("WEIGHTLESS_HUB_SIM", "")


class Hub:
    """A Hub whose repo ``org/model`` holds the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [PROGRAM, "--dir", f"{folder}=org/model"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self.endpoint = self._process.stdout.readline().strip()

    def end(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.communicate()

    def stall(self) -> None:
        """No byte of a file's content arrives any more."""
        self._ask("POST", "rules", {"on": {"site": "data"}, "times": None, "steps": ["stall"]})

    def slow(self, bytes_per_s: int) -> None:
        """All connections together carry no more than this."""
        self._ask("PUT", "link", {"link_bytes_per_s": bytes_per_s})

    def heal(self) -> None:
        """A fast link without faults, with nothing counted."""
        self._ask("DELETE", "rules")
        self._ask("POST", "release")
        self._ask("PUT", "link", {})
        self._ask("POST", "reset")

    @property
    def stalled(self) -> int:
        """Answers that are held back now."""
        stalled: int = self._ask("GET", "counters")["stalled"]
        return stalled

    @property
    def fetched(self) -> int:
        """Bytes of content that were sent."""
        routes = self._ask("GET", "counters")["routes"]
        return sum(int(routes[route]["bytes"]) for route in ("xorb_data", "plain_data"))

    def _ask(self, method: str, path: str, body: Any = None) -> Dict[str, Any]:
        request = urllib.request.Request(
            f"{self.endpoint}/__sim/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else {}
