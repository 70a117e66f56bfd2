"""Finds the program ``weightless``. Downloads nothing."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from typing import List

from ._errors import error

if sys.platform == "win32":
    from . import _windows as _system
else:
    from . import _unix as _system

ADVICE = (
    "Install Weightless (its README says how) so that `weightless` is on the PATH, "
    "or let the environment variable WEIGHTLESS_BIN name the program."
)


def find_binary() -> str:
    """The program: what ``WEIGHTLESS_BIN`` names, else on ``PATH``, else where installers put it."""
    named = os.environ.get("WEIGHTLESS_BIN")
    if named:
        if _is_program(named):
            return os.path.abspath(named)
        raise error("binary_not_found", f"WEIGHTLESS_BIN names {named}, which is no program", ADVICE)
    on_path = shutil.which(_system.PROGRAM)
    if on_path:
        return os.path.abspath(on_path)
    # A kernel that a desktop program started often has a short PATH.
    for place in places():
        if _is_program(place):
            return place
    raise error("binary_not_found", "the program `weightless` is not on this machine", ADVICE)


def places() -> List[str]:
    """Where the program usually is, beside this Python's own scripts."""
    folders = [sysconfig.get_path("scripts"), *_system.program_folders()]
    return [os.path.join(folder, _system.PROGRAM) for folder in folders]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
