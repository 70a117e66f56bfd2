"""Mounting and unmounting, against an engine that says what is written here."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, Dict, List

import pytest

import weightless

from .conftest import FakeEngine, Refuse, mount_status

DIR = "/home/me/Weightless/org/model"


@pytest.fixture(autouse=True)
def mounts(engine: FakeEngine) -> List[Dict[str, Any]]:
    """What is mounted: added to and taken from as requests say."""
    mounted: List[Dict[str, Any]] = []

    def add(params: Dict[str, Any]) -> Dict[str, Any]:
        folder = params.get("dir", DIR)
        old = next((mount for mount in mounted if mount["dir"] == folder), None)
        mount = old or mount_status(folder, params["repo"])
        if old is None:
            mounted.append(mount)
        return {"mount": mount, "is_old": old is not None, "notes": []}

    def remove(params: Dict[str, Any]) -> Dict[str, Any]:
        here = [mount for mount in mounted if mount["dir"] == params["dir"]]
        if not here:
            raise Refuse("not_mounted")
        mounted.remove(here[0])
        return {"dir": params["dir"]}

    engine.replies["mounts.add"] = add
    engine.replies["mounts.remove"] = remove
    engine.replies["status"] = lambda _: {"engine": {"pid": 7, "version": "9.9.9"}, "mounts": mounted}
    return mounted


def test_a_block_gives_the_path_and_unmounts_at_its_end(engine: FakeEngine, mounts: List[Dict[str, Any]]) -> None:
    with weightless.mount("org/model") as path:
        assert path == DIR
        assert [mount["dir"] for mount in mounts] == [DIR]
    assert mounts == []
    assert engine.params("mounts.remove") == {"dir": DIR, "manner": "refuse"}


@pytest.mark.parametrize(
    ("is_old", "wish", "stays"),
    [(False, None, False), (False, False, True), (True, None, True), (True, True, False)],
)
def test_what_was_there_before_stays_unless_asked(is_old: bool, wish: "bool | None", stays: bool) -> None:
    if is_old:
        weightless.mount("org/model")
    with weightless.mount("org/model", unmount_on_exit=wish):
        pass
    assert bool(weightless.status().mounts) == stays


def test_a_mount_is_a_path() -> None:
    mount = weightless.mount("org/model")
    assert os.fspath(mount) == mount.path == str(mount) == DIR
    assert os.path.join(mount, "config.json") == f"{DIR}/config.json"
    assert (mount.repo, mount.commit, mount.is_old) == ("org/model", "c" * 40, False)
    mount.unmount()
    assert weightless.status().mounts == ()


def test_unmounting_inside_the_block_is_fine() -> None:
    with weightless.mount("org/model") as path:
        weightless.unmount(path)


def test_what_is_asked_for_is_what_was_said(engine: FakeEngine, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(expected: Dict[str, Any], **given: Any) -> None:
        weightless.mount("org/model", **given)
        assert engine.params("mounts.add") == {"repo": "org/model", "at_login": False, "follow": False, **expected}

    check({})
    check({"revision": "v1", "subfolder": "onnx"}, revision="v1", subfolder="onnx")
    check({"endpoint": "http://hub", "account": "me", "at_login": True}, endpoint="http://hub", account="me", at_login=True)
    check({"follow": True}, follow=True)
    monkeypatch.chdir(home)
    check({"dir": str(home / "here")}, dir="here")
    check({"dir": str(home / "there")}, dir=Path("~/there"))
    (home / "link").symlink_to(home / "run")
    check({"dir": str(home / "run/x")}, dir="link/x")


def test_the_environment_counts_as_for_the_command_line(
    engine: FakeEngine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "token"
    file.write_text("hf_file")

    def check(environment: Dict[str, str], expected: Dict[str, Any], **given: Any) -> None:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            weightless.mount("org/model", **given)
        asked = engine.params("mounts.add")
        assert {name: asked[name] for name in ("endpoint", "token", "token_file") if name in asked} == expected

    check({"HF_ENDPOINT": "http://hub"}, {"endpoint": "http://hub"})
    check({"HF_ENDPOINT": "http://hub"}, {"endpoint": "http://other"}, endpoint="http://other")
    check({"HF_ENDPOINT": ""}, {})
    check({"HF_TOKEN": " hf_x\n"}, {"token": "hf_x"})
    check({"HF_TOKEN": " "}, {})
    check({"HF_TOKEN": "hf_x"}, {"token": "hf_y"}, token="hf_y")
    check({"HF_TOKEN": "hf_x"}, {}, account="me")
    check({"HF_TOKEN_PATH": str(file)}, {"token_file": str(file)})
    check({"HF_TOKEN_PATH": str(file), "HF_TOKEN": "hf_x"}, {"token": "hf_x"})
    check({"HF_TOKEN_PATH": str(home / "absent")}, {})


def test_no_token_stays_behind(engine: FakeEngine) -> None:
    mount = weightless.mount("org/model", token="hf_secret")
    assert "hf_secret" not in repr(mount) + repr(vars(mount))

    engine.replies["mounts.add"] = lambda _: refuse("gated")
    with pytest.raises(weightless.Gated) as caught:
        weightless.mount("org/model", token="hf_secret")
    # What tracebacks with variables show, but for the test's own frame.
    trace, shown = caught.tb.tb_next, ""
    while trace is not None:
        shown += repr(trace.tb_frame.f_locals)
        trace = trace.tb_next
    assert "org/model" in shown
    assert "hf_secret" not in shown + repr(caught.value)


def refuse(code: str, **more: Any) -> Dict[str, Any]:
    raise Refuse(code, **more)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("repo_not_found", weightless.RepoNotFound),
        ("revision_not_found", weightless.RevisionNotFound),
        ("gated", weightless.Gated),
        ("not_logged_in", weightless.NotLoggedIn),
        ("token_rejected", weightless.NotLoggedIn),
        ("offline", weightless.Offline),
        ("mount_point_busy", weightless.Busy),
        ("not_thought_of_yet", weightless.WeightlessError),
    ],
)
def test_each_refusal_has_its_class_and_keeps_its_words(engine: FakeEngine, code: str, kind: type) -> None:
    engine.replies["mounts.add"] = lambda _: refuse(code, sentence="a/b: it is so", advice="Do this.")
    with pytest.raises(weightless.WeightlessError) as caught:
        weightless.mount("a/b")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.sentence, caught.value.advice) == (code, "a/b: it is so", "Do this.")
    assert str(caught.value) == "a/b: it is so. Do this."


def test_a_busy_mount_names_its_holders(engine: FakeEngine) -> None:
    holder: Dict[str, Any] = {"pid": 9, "program": "vim", "path": f"{DIR}/README.md"}
    engine.replies["mounts.remove"] = lambda _: refuse("mount_point_busy", holders=[holder])
    mount = weightless.mount("org/model")
    with pytest.raises(weightless.Busy, match=r"vim \(pid 9\) has .*README.md") as caught:
        mount.unmount()
    assert caught.value.holders == (weightless.Holder(**holder),)


def test_at_the_end_of_a_block_only_others_are_in_the_way(engine: FakeEngine) -> None:
    """What this process has open is its own matter; the folder goes all the same."""
    manners: List[str] = []

    def hold(pid: int) -> None:
        def remove(params: Dict[str, Any]) -> Dict[str, Any]:
            manners.append(params["manner"])
            if params["manner"] == "refuse":
                refuse("mount_point_busy", holders=[{"pid": pid, "program": "python", "path": DIR}])
            return {"dir": DIR}

        engine.replies["mounts.remove"] = remove

    hold(os.getpid())
    with weightless.mount("org/model", unmount_on_exit=True):
        pass
    assert manners == ["refuse", "lazily"]

    hold(1)
    with pytest.raises(weightless.Busy), weightless.mount("org/model", unmount_on_exit=True):
        pass
    assert manners[2:] == ["refuse"]


def test_the_error_of_a_block_is_not_hidden_by_the_unmount(engine: FakeEngine) -> None:
    engine.replies["mounts.remove"] = lambda _: refuse("mount_point_busy")
    with pytest.raises(KeyError), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with weightless.mount("org/model"):
            raise KeyError("mine")
    assert "stays mounted" in str(warned[0].message)


def test_unmount_takes_a_folder_or_a_repo(engine: FakeEngine, mounts: List[Dict[str, Any]], home: Path) -> None:
    def check(target: Any, gone: List[str]) -> None:
        here = {str(home / "a"): "org/a", str(home / "b"): "org/b", str(home / "c"): "org/b"}
        mounts[:] = [mount_status(folder, repo) for folder, repo in here.items()]
        mounts[2]["revision"] = "v1"
        assert weightless.unmount(target) == [str(home / name) for name in gone]
        assert len(mounts) == 3 - len(gone)

    check(str(home / "a"), ["a"])
    check(home / "a", ["a"])
    check("~/a", ["a"])
    check("org/a", ["a"])
    check("hf://org/a", ["a"])
    check("org/b", ["b", "c"])
    check("org/b@v1", ["c"])
    with pytest.raises(weightless.NotMounted):
        weightless.unmount("org/c")


@pytest.mark.parametrize(("given", "manner"), [({}, "refuse"), ({"lazy": True}, "lazily"), ({"force": True}, "force")])
def test_unmount_has_three_manners(engine: FakeEngine, given: Dict[str, bool], manner: str) -> None:
    weightless.mount("org/model")
    weightless.unmount("org/model", **given)
    assert engine.params("mounts.remove")["manner"] == manner


def test_two_manners_at_once_are_refused() -> None:
    with pytest.raises(ValueError):
        weightless.unmount("org/model", lazy=True, force=True)
