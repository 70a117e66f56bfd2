"""The dataclasses are the protocol's, field for field, as its document has them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Dict, Set

import pytest

import weightless
from weightless._types import from_json

DOCUMENT = Path(__file__).parents[2] / "docs/control.md"


def documented() -> Dict[str, Set[str]]:
    """Names of fields by the heading that they stand under."""
    fields: Dict[str, Set[str]] = {}
    heading = ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("#"):
            heading = line.strip("# `")
        elif field := re.match(r" *- `(\w+)` \(", line):
            fields.setdefault(heading, set()).add(field[1])
    return fields


@pytest.mark.parametrize(
    ("kind", "heading"),
    [
        (weightless.Holder, "Holder"),
        (weightless.Problem, "Problem"),
        (weightless.Fault, "Fault"),
        (weightless.EngineStatus, "EngineStatus"),
        (weightless.MountStatus, "MountStatus"),
        (weightless.Status, "status"),
        (weightless.StoreStatus, "StoreStatus"),
        (weightless.FolderStatus, "FolderStatus"),
        (weightless.FolderProblem, "FolderProblem"),
        (weightless.Local, "Local"),
        (weightless.Traffic, "Traffic"),
        (weightless.MountStats, "MountStats"),
        (weightless.FileStats, "FileStats"),
        (weightless.Memory, "Memory"),
        (weightless.Network, "Network"),
        (weightless.Stats, "Stats"),
    ],
)
def test_fields_are_those_of_the_document(kind: type, heading: str) -> None:
    assert {field.name for field in dataclasses.fields(kind)} == documented()[heading]


def test_a_reason_to_wait_has_the_seconds_of_the_document() -> None:
    # Its reason is what tells its kinds apart.
    assert {field.name for field in dataclasses.fields(weightless.Waiting)} == {"reason", *documented()["Waiting"]}


def test_newer_and_older_engines_are_understood() -> None:
    assert from_json(weightless.Status, {}) == weightless.Status()
    status = from_json(
        weightless.Status,
        {
            "engine": {"pid": 7, "version": "2.0", "newer": {}},
            "mounts": [
                {"dir": "/m", "repo": "a/b", "pid": None, "fault": {"code": "offline", "holders": [{"pid": 3}]}},
                {"dir": "/n", "files": "many", "state": "newer"},
            ],
            "folder": {"dir": "/f", "recent": ["a/b", 7], "problems": [{"path": "a/c"}]},
        },
    )
    assert status.engine == weightless.EngineStatus(pid=7, version="2.0")
    assert status.folder == weightless.FolderStatus(dir="/f", recent=("a/b",), problems=(weightless.FolderProblem(path="a/c"),))
    first, second = status.mounts
    assert first.fault == weightless.Fault(code="offline", holders=(weightless.Holder(pid=3),))
    assert (first.pid, second.files, second.state) == (None, 0, "newer")
