"""``%hub`` of IPython and Jupyter. The only module that needs IPython."""

from __future__ import annotations

import argparse
import atexit
import shlex
from typing import Any, List, NoReturn, Optional

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.display import DisplayHandle

from . import _mounts
from ._errors import WeightlessError
from ._watch import Watch
from ._words import table


class Parser(argparse.ArgumentParser):
    """An argument parser that ends no kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


class Done(Exception):
    """Help was asked for and is printed."""


class Help(argparse.Action):
    """``-h``, which would leave the interpreter otherwise."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(parser.format_help())
        raise Done


@magics_class
class HubMagics(Magics):
    """``%hub mount``, ``%hub unmount``, ``%hub status``, ``%hub watch``."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._parser = parser()
        self._watch: Optional[Watch] = None
        self._place = DisplayHandle()
        atexit.register(self.end)

    @line_magic
    def hub(self, line: str) -> Optional[str]:
        """Repos of the Hugging Face Hub as folders: ``%hub mount REPO``, ``%hub -h`` for the rest."""
        try:
            words = shlex.split(line)
        except ValueError as failed:
            raise UsageError(str(failed)) from None
        try:
            args = self._parser.parse_args(words or ["-h"])
            result: Optional[str] = getattr(self, args.verb)(args)
        except Done:
            return None
        except WeightlessError as failed:
            words_only(failed)
            raise
        return result

    def mount(self, args: argparse.Namespace) -> Optional[str]:
        """Returns the folder, or assigns it."""
        mounted = _mounts.mount(
            args.repo,
            args.dir,
            revision=args.revision,
            subfolder=args.subfolder,
            endpoint=args.endpoint,
            account=args.account,
            at_login=args.at_login,
        )
        for note in mounted.notes:
            print(note)
        if args.name is None:
            return mounted.path
        self._shell.user_ns[args.name] = mounted.path
        print(f"{args.name} = {mounted.path!r}")
        return None

    def unmount(self, args: argparse.Namespace) -> None:
        """Says what is gone."""
        for folder in _mounts.unmount(args.target, lazy=args.lazy, force=args.force):
            print(f"unmounted {folder}")

    def status(self, _: argparse.Namespace) -> None:
        """Says what is there."""
        print(table(_mounts.status()))

    def watch(self, args: argparse.Namespace) -> None:
        """The line of throughput: in this cell from now on, or nowhere."""
        if self._watch is not None:
            self.end()
            # Figures that stood still would pass for those of now.
            self._place.update(bundle("Weightless: not watched any more"), raw=True)
        if args.turn == "off":
            return
        # A terminal has no place for what changes.
        if not hasattr(self._shell, "kernel"):
            raise UsageError("the line lives in notebooks; in a terminal there is `weightless status --watch`")
        self._place = place = DisplayHandle()
        place.display(bundle("Weightless"), raw=True)
        self._watch = Watch(lambda line: place.update(bundle(line), raw=True))

    def end(self) -> None:
        """Ends the line."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()


def bundle(line: str) -> "dict[str, str]":
    """A line as notebooks show it."""
    return {"text/plain": line}


def words_only(failed: WeightlessError) -> None:
    """Shows an error of a magic without the frames of this package: nobody wrote them."""
    lines: List[str] = f"{type(failed).__name__}: {failed}".split("\n")
    # IPython's hook for exceptions that show themselves.
    failed._render_traceback_ = lambda: lines  # type: ignore[attr-defined]


def parser() -> Parser:
    """The grammar of ``%hub``."""
    top = Parser(prog="%hub", add_help=False, description="Repos of the Hugging Face Hub as folders.")
    top.add_argument("-h", "--help", action=Help, nargs=0, help="this")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)

    def verb(name: str, text: str) -> Parser:
        added: Parser = verbs.add_parser(name, help=text, description=text, add_help=False)
        added.add_argument("-h", "--help", action=Help, nargs=0, help="this")
        return added

    mount = verb("mount", "show a repo as a folder; gives its path")
    mount.add_argument("repo", metavar="REPO", help="org/name, datasets/org/name, spaces/org/name or a link from the Hub")
    mount.add_argument("dir", metavar="DIR", nargs="?", help="the folder; a place in ~/Weightless without")
    mount.add_argument("-o", "--output", dest="name", metavar="NAME", type=identifier, help="assign the path to this name")
    mount.add_argument("--revision", metavar="REV", help="branch, tag, commit or refs/pr/N")
    mount.add_argument("--subfolder", metavar="PATH", help="show only this folder of the repo")
    mount.add_argument("--endpoint", metavar="URL", help="another Hub")
    mount.add_argument("--account", metavar="NAME", help="the account that asks")
    mount.add_argument("--at-login", action="store_true", help="mount it again at each login")

    unmount = verb("unmount", "take a mounted folder away, or all mounts of a repo")
    unmount.add_argument("target", metavar="DIR|REPO")
    manner = unmount.add_mutually_exclusive_group()
    manner.add_argument("--lazy", action="store_true", help="what is open can be read until it is closed")
    manner.add_argument("--force", action="store_true", help="what is open gives errors")

    verb("status", "what is mounted")
    watch = verb("watch", "a line of throughput in this cell that keeps itself up to date")
    watch.add_argument("turn", choices=("on", "off"), nargs="?", default="on")
    return top


def identifier(text: str) -> str:
    """A name that can be assigned."""
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"{text} is no name of Python's")
    return text


def load(shell: InteractiveShell) -> None:
    """Brings ``%hub``."""
    shell.register_magics(HubMagics(shell))


def unload(shell: InteractiveShell) -> None:
    """Takes it away."""
    magic = shell.magics_manager.magics["line"].pop("hub", None)
    if magic is not None:
        magic.__self__.end()
