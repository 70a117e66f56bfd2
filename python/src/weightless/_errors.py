"""What goes wrong, in words and as classes. The words are the engine's; this module adds none to them."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from ._types import Holder, from_json


class WeightlessError(Exception):
    """Weightless could not do it. ``str()`` is the sentence, the advice and who is in the way, for people."""

    code: str
    """Stable name of the kind, for programs: ``repo_not_found``."""
    sentence: str
    """What happened, with what it is about."""
    advice: str
    """What to do about it; empty if nothing."""
    holders: "tuple[Holder, ...]"
    """The processes that keep a mount busy, where that is the reason."""

    def __init__(self, code: str, sentence: str, advice: str = "", holders: Sequence[Holder] = ()) -> None:
        super().__init__(code, sentence, advice, tuple(holders))
        self.code = code
        self.sentence = sentence
        self.advice = advice
        self.holders = tuple(holders)

    def __str__(self) -> str:
        lines = [f"{self.sentence}. {self.advice}" if self.advice else self.sentence]
        lines += [f"  {holder}" for holder in self.holders]
        return "\n".join(lines)


class RepoNotFound(WeightlessError):
    """No such repo, or it is private and this account cannot see it."""


class RevisionNotFound(WeightlessError):
    """The repo has no such branch, tag or commit."""


class Gated(WeightlessError):
    """The repo's licence must be accepted first, on its page."""


class NotLoggedIn(WeightlessError):
    """The Hub asks for a login, or rejects the token."""


class Offline(WeightlessError):
    """The Hub cannot be reached."""


class Busy(WeightlessError):
    """Something uses the mount, or the folder that was to become one. :attr:`holders` names who."""


class NotMounted(WeightlessError):
    """This is neither a mounted folder nor a mounted repo."""


class EngineSilent(WeightlessError):
    """The engine does not answer, or cannot be started."""


class BinaryNotFound(WeightlessError):
    """The program ``weightless`` is not on this machine."""


CLASSES: Mapping[str, "type[WeightlessError]"] = {
    "repo_not_found": RepoNotFound,
    "revision_not_found": RevisionNotFound,
    "gated": Gated,
    "not_logged_in": NotLoggedIn,
    "token_rejected": NotLoggedIn,
    "offline": Offline,
    "mount_point_busy": Busy,
    "not_mounted": NotMounted,
    "silent": EngineSilent,
    "binary_not_found": BinaryNotFound,
}


def error(code: str, sentence: str, advice: str = "", holders: Sequence[Holder] = ()) -> WeightlessError:
    """The error of this code, in its class."""
    return CLASSES.get(code, WeightlessError)(code, sentence, advice, holders)


def from_fault(fault: Optional[Mapping[str, Any]]) -> WeightlessError:
    """The error for a fault of the control protocol."""
    fault = fault or {}
    holders = [from_json(Holder, holder) for holder in fault.get("holders") or ()]
    sentence = fault.get("sentence") or "the engine failed and does not say why"
    return error(fault.get("code") or "internal", sentence, fault.get("advice") or "", holders)
