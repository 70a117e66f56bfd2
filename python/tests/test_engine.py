"""Reaching the engine: found, started, too old, broken, dead."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, Dict, cast

import pytest

import weightless
from weightless import _engine, _mounts, _unix, _windows
from weightless._control import Connection

from .conftest import FakeEngine, mount_status

STATUS: Dict[str, Any] = {"engine": {"pid": 7, "version": "9.9.9"}, "mounts": []}


def program(home: Path, script: str) -> Path:
    """A `weightless` that does what a shell script does."""
    file = home / "bin/weightless"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_the_program_is_found_where_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home / "nothing"))
    monkeypatch.setattr(_unix, "program_folders", lambda: [str(home / "bin")])
    with pytest.raises(weightless.BinaryNotFound, match="WEIGHTLESS_BIN"):
        weightless.find_binary()
    file = program(home, "exit 1")
    assert weightless.find_binary() == str(file)
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert weightless.find_binary() == str(file)
    monkeypatch.setenv("WEIGHTLESS_BIN", str(home / "other"))
    with pytest.raises(weightless.BinaryNotFound, match="other"):
        weightless.find_binary()
    monkeypatch.setenv("WEIGHTLESS_BIN", str(file))
    assert weightless.find_binary() == str(file)


def test_asking_what_is_mounted_starts_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHTLESS_BIN", str(program(home, f"touch {home}/started")))
    assert weightless.status() == weightless.Status()
    assert weightless.stats() == weightless.Stats()
    with pytest.raises(weightless.NotMounted):
        weightless.unmount("org/model")
    assert not (home / "started").exists()


def test_mounting_starts_an_engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = FakeEngine(home, "later.sock")
    later.replies["mounts.add"] = {"mount": mount_status("/m"), "is_old": False}
    folder = later.path.parent
    script = f'echo "$@" in "$(pwd)" >&2; mv {folder}/later.sock {folder}/engine.sock; echo \'{{"ready": ["hello"]}}\''
    monkeypatch.setenv("WEIGHTLESS_BIN", str(program(home, script)))
    assert weightless.mount("org/model").path == "/m"
    log = home / ".local/state/weightless/engine.log"
    assert log.read_text() == "engine --background in /\n"
    assert log.stat().st_mode & 0o777 == 0o600
    later.close()


def test_mounts_of_an_engine_that_died_are_brought_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = FakeEngine(home, "later.sock")
    later.replies["status"] = {**STATUS, "mounts": [mount_status("/m")]}
    folder = later.path.parent
    (folder / "engine.json").write_text(json.dumps({"pid": 1, "mounts": [{"repo": "org/model"}]}))
    script = f"mv {folder}/later.sock {folder}/engine.sock; echo '{{\"ready\": []}}'"
    monkeypatch.setenv("WEIGHTLESS_BIN", str(program(home, script)))
    assert [mount.dir for mount in weightless.status().mounts] == ["/m"]
    later.close()


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (
            """echo '{"failed": {"code": "driver_missing", "sentence": "no FUSE", "advice": "Install it."}}'""",
            "driver_missing",
            "no FUSE. Install it.",
        ),
        ("echo thread panicked", "internal", "engine.log"),
        ("exit 1", "internal", "engine.log"),
        ("echo '[]'", "internal", "engine.log"),
        ("""echo '{"ready": []}'""", "silent", "engine.log"),
    ],
)
def test_a_start_that_fails_says_why(home: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: str, words: str) -> None:
    monkeypatch.setenv("WEIGHTLESS_BIN", str(program(home, script)))
    with pytest.raises(weightless.WeightlessError) as caught:
        weightless.mount("org/model")
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_start_that_never_ends_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "START_S_MAX", 0.2)
    monkeypatch.setenv("WEIGHTLESS_BIN", str(program(home, f"echo $$ > {home}/pid; exec sleep 60")))
    with pytest.raises(weightless.EngineSilent):
        weightless.mount("org/model")
    os.kill(int((home / "pid").read_text()), signal.SIGKILL)


def test_events_between_request_and_reply_are_passed_over(engine: FakeEngine) -> None:
    engine.events["status"] = [{"kind": "mount_gone", "dir": "/m"}, {"kind": "newer"}]
    engine.replies["status"] = STATUS
    answered = weightless.status().engine
    assert answered is not None and answered.version == "9.9.9"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"hello\n", "protocol"),
        (b"[]\n", "protocol"),
        (b'{"jsonrpc":"2.0","id":9,"result":{}}\n', "protocol"),
        (b'{"jsonrpc":"2.0","id":2,"result":7}\n', "protocol"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON"}}\n', "protocol"),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"m"}}\n', "internal"),
        (b"x" * ((1 << 20) + 70_000), "protocol"),
    ],
)
def test_an_engine_that_makes_no_sense_is_an_error_and_no_hang(engine: FakeEngine, raw: bytes, code: str) -> None:
    engine.raw["status"] = raw
    with pytest.raises(weightless.WeightlessError) as caught:
        weightless.status()
    assert caught.value.code == code


def test_an_engine_of_another_time_is_named(engine: FakeEngine) -> None:
    engine.raw["hello"] = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no common protocol"}}\n'
    with pytest.raises(weightless.WeightlessError, match=r"no common protocol.*engine restart"):
        weightless.status()


def test_an_engine_that_says_nothing_is_given_up(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_mounts, "ANSWER_S_MAX", 0.2)
    engine.raw["status"] = b""
    with pytest.raises(weightless.EngineSilent, match="does not answer"):
        weightless.status()


def test_a_connection_that_breaks_is_an_error(engine: FakeEngine) -> None:
    engine.raw["status"] = b""

    def cut() -> None:
        until(lambda: ("status", {}) in engine.told)
        engine.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    with pytest.raises(weightless.EngineSilent, match="broke"):
        weightless.status()
    cutting.join()


def test_an_answer_that_is_waited_for_can_be_interrupted(engine: FakeEngine) -> None:
    engine.raw["mounts.add"] = b""
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        until(lambda: any(method == "mounts.add" for method, _ in engine.told))
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        weightless.mount("org/model")


def test_a_named_pipe_speaks_the_same() -> None:
    """As far as it can be seen without Windows: a raw file instead of a socket."""
    ours, theirs = socket.socketpair()
    pipe = _windows.PipeStream(cast(BinaryIO, ours.makefile("rwb", buffering=0)))
    theirs.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"protocol":1}}\n{"jsonrpc":"2.0","id":2,"result":{"a":1}}\n')
    with ours, theirs, Connection(pipe) as connection:
        assert connection.call("status") == {"a": 1}
        methods = [json.loads(line)["method"] for line in theirs.recv(1 << 16).splitlines()]
        assert methods == ["hello", "status"]
        connection.set_deadline(-1)
        with pytest.raises(weightless.EngineSilent):
            connection.call("status")


def test_a_socket_in_a_folder_of_others_is_not_used(home: Path) -> None:
    (home / "run/weightless").mkdir(mode=0o755)
    with pytest.raises(weightless.WeightlessError, match="not yours alone"):
        weightless.mount("org/model")
    (home / "run/weightless").rmdir()
    (home / "ours").mkdir(mode=0o700)
    (home / "run/weightless").symlink_to(home / "ours")
    with pytest.raises(weightless.WeightlessError, match="not yours alone"):
        weightless.status()


@pytest.mark.parametrize("base", ["", "relative", "/absent"])
def test_without_a_runtime_folder_of_this_user_it_is_tmp(home: Path, monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    # Whether that folder is refused does not matter here; it is the user's own.
    assert _unix.runtime_dir() == f"/tmp/weightless-{os.geteuid()}"


def until(is_so: Any) -> None:
    """Waits for what another thread does."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.01)
