"""Mounting and unmounting, as the command line does it. Nothing here touches a mount's files."""

from __future__ import annotations

import os
import warnings
from types import TracebackType
from typing import Any, Dict, List, Optional, Type, Union

from . import _engine
from ._control import Secret
from ._errors import Busy, NotMounted, WeightlessError, error
from ._types import MountStatus, Stats, Status, from_json

# How long a mount may take: the engine's own bound, and some.
MOUNT_S_MAX = 70.0
# Unmounting ends what waits, which has its own bounds.
UNMOUNT_S_MAX = 20.0
# An engine that answers does so in milliseconds.
ANSWER_S_MAX = 5.0

PathOrRepo = Union[str, "os.PathLike[str]"]


class Mount:
    """A repo that is a folder now.

    ``open``, ``os.path.join`` and ``pathlib.Path`` take it as the path that it is. As a context it gives the path, and
    unmounts at the end if it was this call that mounted.
    """

    path: str
    """Absolute path of the folder."""
    status: MountStatus
    """The mount, as it was when it was made."""
    is_old: bool
    """Whether it was mounted before this call."""
    notes: List[str]
    """What else there is to say, a sentence each."""

    def __init__(self, status: MountStatus, is_old: bool, notes: List[str], unmount_on_exit: Optional[bool]) -> None:
        self.path = status.dir
        self.status = status
        self.is_old = is_old
        self.notes = notes
        self._unmount_on_exit = not is_old if unmount_on_exit is None else unmount_on_exit

    @property
    def repo(self) -> str:
        """``org/name``, ``datasets/org/name``, ``spaces/org/name``."""
        return self.status.repo

    @property
    def commit(self) -> str:
        """Full sha of the commit that the folder shows."""
        return self.status.commit

    def unmount(self, *, lazy: bool = False, force: bool = False) -> None:
        """Takes the folder away; see :func:`weightless.unmount`."""
        _remove(self.path, _manner(lazy, force))

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<weightless.Mount {self.repo}@{self.status.revision} ({self.commit[:8]}) at {self.path!r}>"

    def __enter__(self) -> str:
        return self.path

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not self._unmount_on_exit:
            return
        try:
            _leave(self.path)
        except WeightlessError as failed:
            if value is None:
                raise
            # The error of the block is what the user must see.
            warnings.warn(f"{self.path} stays mounted: {failed}", stacklevel=2)


def mount(
    repo: str,
    dir: "Optional[PathOrRepo]" = None,
    *,
    revision: Optional[str] = None,
    subfolder: Optional[str] = None,
    endpoint: Optional[str] = None,
    account: Optional[str] = None,
    token: Optional[str] = None,
    at_login: bool = False,
    follow: bool = False,
    unmount_on_exit: Optional[bool] = None,
) -> Mount:
    """Shows a repo of the Hub as a read-only folder, without downloading it.

    ``with weightless.mount("Qwen/Qwen2.5-0.5B") as path:`` unmounts at the end; without ``with`` the folder stays, also
    when Python ends, until it is unmounted.

    :param repo: ``org/name``, ``datasets/org/name``, ``spaces/org/name``, ``hf://…`` or a link from the Hub.
    :param dir: The folder; without one, a place in ``~/Weightless``.
    :param revision: Branch, tag, commit or ``refs/pr/N``; ``main`` where nothing names one.
    :param subfolder: Show only this folder of the repo.
    :param endpoint: The Hub; ``HF_ENDPOINT`` or the engine's settings without.
    :param account: The account of Weightless that asks; the default one without.
    :param token: A token for this mount, kept in the engine's memory only; ``HF_TOKEN`` or ``HF_TOKEN_PATH`` without.
    :param at_login: Mount it again whenever the engine starts.
    :param follow: Show each newer commit of the branch by itself; files that are open keep their content.
    :param unmount_on_exit: Whether the end of the ``with`` unmounts; without, it does unless the mount was there before.
    """
    token = token and Secret(token.strip())
    params: Dict[str, Any] = {
        "repo": repo,
        "revision": revision,
        "subfolder": subfolder,
        "dir": None if dir is None else _absolute(dir),
        "endpoint": endpoint or os.environ.get("HF_ENDPOINT") or None,
        "account": account,
        "at_login": at_login,
        "follow": follow,
        "token": token or None,
    }
    if not token and account is None:
        params.update(_environment_token())
    with _engine.connect(MOUNT_S_MAX) as engine:
        mounted = engine.call("mounts.add", **params)
    notes = [str(note) for note in mounted.get("notes") or ()]
    return Mount(from_json(MountStatus, mounted.get("mount")), bool(mounted.get("is_old")), notes, unmount_on_exit)


def unmount(path_or_repo: PathOrRepo, *, lazy: bool = False, force: bool = False) -> List[str]:
    """Takes a mounted folder away, or every mount of a repo (``org/name``, ``org/name@revision``). Returns the folders.

    Where files are open it raises :class:`weightless.Busy`, which names who has them.

    :param lazy: Take the folder away now; open files can be read until they are closed.
    :param force: Take the folder away now and end the reads that wait; open files give errors.
    """
    manner = _manner(lazy, force)
    chosen = _choose(path_or_repo)
    for folder in chosen:
        _remove(folder, manner)
    return chosen


def status() -> Status:
    """What is mounted. Starts no engine where there is nothing to say."""
    engine = _engine.connect_if_needed(ANSWER_S_MAX)
    if engine is None:
        return Status()
    with engine:
        return from_json(Status, engine.call("status"))


def stats() -> Stats:
    """How much goes through, how fast, and what waits for what."""
    engine = _engine.connect_if_needed(ANSWER_S_MAX)
    if engine is None:
        return Stats()
    with engine:
        return from_json(Stats, engine.call("stats"))


def _environment_token() -> Dict[str, str]:
    """Who asks by this process's environment; the engine may have been started in another one."""
    token = os.environ.get("HF_TOKEN", "").strip()
    if token:
        return {"token": Secret(token)}
    path = os.environ.get("HF_TOKEN_PATH", "")
    return {"token_file": _absolute(path)} if os.path.isfile(path) else {}


def _absolute(path: PathOrRepo) -> str:
    return os.path.realpath(os.path.expanduser(os.fspath(path)))


def _manner(lazy: bool, force: bool) -> str:
    if lazy and force:
        raise ValueError("lazy and force exclude each other")
    return "force" if force else "lazily" if lazy else "refuse"


def _choose(path_or_repo: PathOrRepo) -> List[str]:
    """The mount at this folder, else all of this repo, at this revision if it is named."""
    target = os.fspath(path_or_repo)
    # What was unmounted lazily is out of the way.
    mounts = [mount for mount in status().mounts if mount.state != "stopping"]
    folder = _absolute(target)
    chosen = [mount.dir for mount in mounts if mount.dir == folder]
    if not chosen:
        name = target[len("hf://") :] if target.startswith("hf://") else target
        chosen = [mount.dir for mount in mounts if name in (mount.repo, f"{mount.repo}@{mount.revision}")]
    if not chosen:
        raise error(
            "not_mounted",
            f"{target}: neither a mounted folder nor a mounted repo",
            "weightless.status() shows what is mounted.",
        )
    return chosen


def _remove(folder: str, manner: str) -> None:
    engine = _engine.connect_if_needed(UNMOUNT_S_MAX)
    if engine is None:
        raise error("not_mounted", f"{folder}: nothing is mounted there")
    with engine:
        engine.call("mounts.remove", dir=folder, manner=manner)


def _leave(folder: str) -> None:
    """Unmounts at the end of a ``with``. What this process itself still has open or mapped, as tensors are, stays readable."""
    try:
        _remove(folder, "refuse")
    except NotMounted:
        # It was unmounted inside the block.
        pass
    except Busy as busy:
        if not busy.holders or any(holder.pid != os.getpid() for holder in busy.holders):
            raise
        _remove(folder, "lazily")
