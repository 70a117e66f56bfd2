"""What the engine tells, as frozen dataclasses with the names of the control protocol (``docs/control.md``).

Sizes are bytes, rates bytes a second, times seconds since 1970 unless the name says otherwise. What a newer engine adds is
passed over, what an older one leaves out has its default.
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Hashable, Mapping, Optional, Tuple, Type, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Holder:
    """A process that keeps a mount busy."""

    pid: int = 0
    program: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.program} (pid {self.pid}) has {self.path}"


@dataclass(frozen=True)
class Problem:
    """A setting that cannot be, or is not known."""

    setting: str = ""
    sentence: str = ""


@dataclass(frozen=True)
class Fault:
    """What went wrong with a mount, in words."""

    code: str = ""
    sentence: str = ""
    advice: str = ""
    holders: Tuple[Holder, ...] = ()
    problems: Tuple[Problem, ...] = ()


@dataclass(frozen=True)
class StoreStatus:
    """What is kept on this device of what was read."""

    dir: str = ""
    used_bytes: int = 0
    max_bytes: int = 0
    keep_free_bytes: int = 0
    fault: Optional[Fault] = None


@dataclass(frozen=True)
class EngineStatus:
    """The process that owns the mounts."""

    pid: int = 0
    version: str = ""
    started_unix_s: int = 0
    budget_bytes: int = 0
    held_bytes: int = 0
    is_paused: bool = False
    log: str = ""
    store: Optional[StoreStatus] = None
    faults: Tuple[Fault, ...] = ()


@dataclass(frozen=True)
class MountStatus:
    """One mount."""

    repo: str = ""
    revision: str = ""
    dir: str = ""
    state: str = "other"
    commit: str = ""
    subfolder: str = ""
    endpoint: str = ""
    account: Optional[str] = None
    at_login: bool = False
    follow: bool = False
    is_paused: bool = False
    weight: int = 1
    files: int = 0
    size_bytes: int = 0
    open_files: int = 0
    bytes_delivered: int = 0
    bytes_fetched: int = 0
    bytes_from_store: int = 0
    bytes_from_hub_cache: int = 0
    mounted_unix_s: int = 0
    pid: Optional[int] = None
    fault: Optional[Fault] = None
    in_folder: bool = False
    update: Optional[str] = None


@dataclass(frozen=True)
class FolderProblem:
    """A name in the Hub folder that led nowhere."""

    path: str = ""
    fault: Fault = field(default_factory=Fault)


@dataclass(frozen=True)
class FolderStatus:
    """The Hub folder, in which every repo is there under its name."""

    dir: str = ""
    state: str = "other"
    endpoint: str = ""
    account: Optional[str] = None
    recent: Tuple[str, ...] = ()
    problems: Tuple[FolderProblem, ...] = ()
    fault: Optional[Fault] = None


@dataclass(frozen=True)
class Status:
    """What is mounted. ``engine`` is ``None`` where no engine runs, ``folder`` where the Hub folder is off."""

    engine: Optional[EngineStatus] = None
    mounts: Tuple[MountStatus, ...] = ()
    folder: Optional[FolderStatus] = None


@dataclass(frozen=True)
class Traffic:
    """Bytes that programs have read (delivered) and that came over the network (fetched), and how fast."""

    delivered_bytes: int = 0
    fetched_bytes: int = 0
    delivered_rate_1s: int = 0
    delivered_rate_10s: int = 0
    fetched_rate_1s: int = 0
    fetched_rate_10s: int = 0


@dataclass(frozen=True)
class Waiting:
    """What a read waits for: ``link``, ``budget``, ``retry``, ``hub_limit``; the last two end in ``in_s`` seconds."""

    reason: str = "other"
    in_s: Optional[int] = None


@dataclass(frozen=True)
class MountStats:
    """One mount's figures."""

    dir: str = ""
    traffic: Traffic = field(default_factory=Traffic)
    open_files: int = 0
    waiting: Optional[Waiting] = None


@dataclass(frozen=True)
class FileStats:
    """One open file."""

    dir: str = ""
    path: str = ""
    size: int = 0
    pid: Optional[int] = None
    program: Optional[str] = None
    opened_unix_s: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    waiting: Optional[Waiting] = None


@dataclass(frozen=True)
class Memory:
    """The memory for file content."""

    budget_bytes: int = 0
    used_bytes: int = 0
    ahead_bytes: int = 0
    behind_bytes: int = 0
    in_flight_bytes: int = 0


@dataclass(frozen=True)
class Network:
    """Requests and what they met."""

    requests: int = 0
    retries: int = 0
    in_flight: int = 0
    link_rate: Optional[int] = None
    reads: int = 0
    memory_hits: int = 0
    waiting_reads: int = 0


@dataclass(frozen=True)
class Local:
    """What came from this device instead of the network."""

    store_bytes: int = 0
    hub_cache_bytes: int = 0
    kept_bytes: int = 0
    dropped_blocks: int = 0


@dataclass(frozen=True)
class Stats:
    """The figures of a moment; all zero where no engine runs."""

    at_unix_ms: int = 0
    total: Traffic = field(default_factory=Traffic)
    memory: Memory = field(default_factory=Memory)
    network: Network = field(default_factory=Network)
    local: Local = field(default_factory=Local)
    mounts: Tuple[MountStats, ...] = ()
    files: Tuple[FileStats, ...] = ()


def from_json(cls: Type[T], data: Any) -> T:
    """A dataclass of this module from what the wire holds; a value of another type than declared is passed over."""
    fields = {}
    for name, kind in _kinds(typing.cast(Hashable, cls)).items():
        value = _value(kind, data.get(name)) if isinstance(data, Mapping) else None
        if value is not None:
            fields[name] = value
    return cls(**fields)


@cache
def _kinds(cls: Hashable) -> "Mapping[str, Any]":
    return typing.get_type_hints(cls)


def _value(kind: Any, value: Any) -> Any:
    if typing.get_origin(kind) is typing.Union:
        kind = next(inner for inner in typing.get_args(kind) if inner is not type(None))
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        if not isinstance(value, list):
            return None
        return tuple(entry for entry in map(partial(_value, inner), value) if entry is not None)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_json(kind, value) if isinstance(value, Mapping) else None
    return value if isinstance(value, kind) else None
