"""Weightless in Python: a Hugging Face repo as a folder, at once, without downloading it.

>>> with weightless.mount("Qwen/Qwen2.5-0.5B") as path:  # doctest: +SKIP
...     AutoModel.from_pretrained(path)

In a notebook, ``%load_ext weightless`` brings ``%hub``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._binary import find_binary
from ._errors import (
    BinaryNotFound,
    Busy,
    EngineSilent,
    Gated,
    NotLoggedIn,
    NotMounted,
    Offline,
    RepoNotFound,
    RevisionNotFound,
    WeightlessError,
)
from ._mounts import Mount, mount, stats, status, unmount
from ._types import (
    EngineStatus,
    Fault,
    FileStats,
    FolderProblem,
    FolderStatus,
    Holder,
    Local,
    Memory,
    MountStats,
    MountStatus,
    Network,
    Problem,
    Stats,
    Status,
    StoreStatus,
    Traffic,
    Waiting,
)
from ._version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "BinaryNotFound",
    "Busy",
    "EngineSilent",
    "EngineStatus",
    "Fault",
    "FileStats",
    "FolderProblem",
    "FolderStatus",
    "Gated",
    "Holder",
    "Local",
    "Memory",
    "Mount",
    "MountStats",
    "MountStatus",
    "Network",
    "NotLoggedIn",
    "NotMounted",
    "Offline",
    "Problem",
    "RepoNotFound",
    "RevisionNotFound",
    "Stats",
    "Status",
    "StoreStatus",
    "Traffic",
    "Waiting",
    "WeightlessError",
    "__version__",
    "find_binary",
    "mount",
    "stats",
    "status",
    "unmount",
]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%load_ext weightless``."""
    # IPython is there, since it calls this; elsewhere it need not be.
    from ._magic import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%unload_ext weightless``."""
    from ._magic import unload

    unload(shell)
