"""``%hub`` in a kernel, against an engine that says what is written here."""

from __future__ import annotations

from typing import Any, Dict, Iterator

import pytest

from .conftest import FakeEngine, Refuse, mount_status
from .notebook import Notebook, environment_for_kernels, until


@pytest.fixture
def notebook(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    environment_for_kernels(monkeypatch)
    notebook = Notebook()
    notebook.run("%load_ext weightless").ok()
    yield notebook
    notebook.end()


def test_the_verbs(engine: FakeEngine, notebook: Notebook) -> None:
    engine.replies["mounts.add"] = {"mount": mount_status("/m/a"), "is_old": False, "notes": ["It is so."]}
    engine.replies["mounts.remove"] = {"dir": "/m/a"}
    engine.replies["status"] = {"engine": {"pid": 7}, "mounts": [mount_status("/m/a")]}

    assert notebook.run("%hub mount org/model").ok().text == "It is so.\n\n'/m/a'"
    asked = '%hub mount org/model "/m/a b" --revision v1 --subfolder onnx --account me --at-login -o path'
    assert notebook.run(asked).ok().text == "It is so.\npath = '/m/a'\n"
    assert engine.params("mounts.add") == {
        "repo": "org/model",
        "dir": "/m/a b",
        "revision": "v1",
        "subfolder": "onnx",
        "account": "me",
        "at_login": True,
        "follow": False,
    }
    notebook.run("other = %hub mount org/model\nassert (path, other) == ('/m/a', '/m/a')").ok()
    assert "org/model  ready" in notebook.run("%hub status").ok().text
    assert notebook.run("%hub unmount org/model --lazy").ok().text == "unmounted /m/a\n"
    assert engine.params("mounts.remove") == {"dir": "/m/a", "manner": "lazily"}

    # Help and mistakes end no kernel.
    assert "mount" in notebook.run("%hub").ok().text
    assert "--revision" in notebook.run("%hub mount -h").ok().text
    assert "VERB" in notebook.run("%hub fly").text
    assert "REPO" in notebook.run("%hub mount").text
    assert "quotation" in notebook.run("%hub mount 'a").text
    assert "no name" in notebook.run("%hub mount a/b -o 1x").text

    # An error is its words, and can be caught.
    def refuse(_: Dict[str, Any]) -> Dict[str, Any]:
        raise Refuse("repo_not_found", "a/b: no such repo", advice="Look again.")

    engine.replies["mounts.add"] = refuse
    failed = notebook.run("%hub mount a/b")
    assert (failed.error, failed.text) == ("RepoNotFound", "RepoNotFound: a/b: no such repo. Look again.")
    caught = "import weightless\ntry:\n    %hub mount a/b\nexcept weightless.RepoNotFound:\n    print('caught')"
    assert notebook.run(caught).ok().text == "caught\n"


def test_the_line_lives_until_it_is_turned_off(engine: FakeEngine, notebook: Notebook) -> None:
    def stats(rate: int) -> Dict[str, Any]:
        return {"kind": "stats", "stats": {"total": {"delivered_rate_1s": rate, "fetched_bytes": 7_000}}}

    engine.events["subscribe"] = [{"kind": "accounts"}, stats(1_000_000)]
    engine.replies["subscribe"] = {}
    notebook.run("%hub watch").ok()
    until(lambda: shows(notebook, "Weightless: reading 1.00 MB/s · network 0 B/s · 7.00 kB fetched"))
    assert engine.params("subscribe") == {"stats_ms": 500}

    # The engine ends, and another one comes.
    engine.events["subscribe"] = [stats(2_000_000)]
    engine.cut()
    until(lambda: shows(notebook, "Weightless: reading 2.00 MB/s · network 0 B/s · 7.00 kB fetched"))
    assert len(notebook.places) == 1

    notebook.run("%hub watch off").ok()
    until(lambda: shows(notebook, "Weightless: not watched any more"))
    # The thread is at a read of the connection, which it leaves at the next event or the end.
    engine.cut()
    threads = "import threading; assert 'weightless-watch' not in [thread.name for thread in threading.enumerate()]"
    until(lambda: notebook.run(threads).error is None)


def shows(notebook: Notebook, line: str) -> bool:
    return list(notebook.places.values()) == [line]


def test_watching_starts_no_engine(engine: FakeEngine, notebook: Notebook) -> None:
    engine.close()
    notebook.run("%hub watch on").ok()
    until(lambda: shows(notebook, "Weightless: nothing is mounted"))
    notebook.run("%unload_ext weightless").ok()
    assert "not found" in notebook.run("%hub watch off").text
