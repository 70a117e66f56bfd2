"""The real engine, the Hub on loopback and Jupyter kernels: what a notebook's user relies on."""

from __future__ import annotations

import mmap
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Iterator, List

import numpy
import pytest
from safetensors.numpy import load_file, save_file

import weightless

from . import hub as hub_sim
from .hub import Hub
from .notebook import Notebook, environment_for_kernels, is_alive, until

# Read now, since each test has an environment of its own.
PROGRAM = os.environ.get("WEIGHTLESS_BIN", "")
BIG_BYTES = 24 << 20
# A network that is silent for this long is tried again; a read fails after three times.
STALL_MS = 500
# The kernel asks once more for a page that it could not read ahead; the rest is for a machine that is busy.
DEADLINE_S = 2 * 3 * STALL_MS / 1000 + 15

pytestmark = pytest.mark.skipif(
    not (PROGRAM and hub_sim.PROGRAM), reason="needs the programs of the Rust build: ./dev test python"
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("model")
    save_file({"weight": numpy.arange(1 << 18, dtype=numpy.float32)}, folder / "model.safetensors")
    (folder / "big.bin").write_bytes(random.Random(1).randbytes(BIG_BYTES))
    served = Hub(folder)
    yield served
    served.end()


@pytest.fixture(autouse=True)
def world(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which the real program is found and the Hub is the one on loopback."""
    hub.heal()
    monkeypatch.setenv("WEIGHTLESS_BIN", PROGRAM)
    monkeypatch.setenv("WEIGHTLESS_STALL_TIMEOUT_MS", str(STALL_MS))
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    environment_for_kernels(monkeypatch)
    yield home
    hub.heal()
    # Also after a failed assertion: a mount that stays would keep the home.
    subprocess.run([PROGRAM, "engine", "stop", "--force"], capture_output=True)
    for folder in mounted(home):
        subprocess.run(["fusermount3", "-u", "-z", folder], check=True)


@pytest.fixture
def notebook(world: Path) -> Iterator[Notebook]:
    notebook = Notebook()
    notebook.run("%load_ext weightless").ok()
    yield notebook
    notebook.end()


def mounted(home: Path) -> List[str]:
    """The kernel's mounts in this home."""
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in table if line.split()[4].startswith(f"{home}/")]


def engine_pid() -> int:
    engine = weightless.status().engine
    assert engine is not None
    return engine.pid


def test_a_block_reads_a_repo_and_leaves_nothing(world: Path) -> None:
    with weightless.mount("org/model") as path:
        assert path == str(world / "Weightless/org/model")
        assert load_file(f"{path}/model.safetensors")["weight"][-1] == (1 << 18) - 1
        (mount,) = weightless.status().mounts
        assert (mount.repo, mount.revision, mount.state, len(mount.commit)) == ("org/model", "main", "ready", 40)
        assert weightless.stats().total.fetched_bytes > 0
        with weightless.mount("org/model") as again:
            assert again == path
        assert mounted(world) == [path]
    assert mounted(world) == []


def test_each_refusal_is_a_class_of_its_own(hub: Hub) -> None:
    with pytest.raises(weightless.RepoNotFound, match="org/absent"):
        weightless.mount("org/absent")
    with pytest.raises(weightless.RevisionNotFound):
        weightless.mount("org/model", revision="absent")
    with pytest.raises(weightless.Offline):
        # Nobody listens there.
        weightless.mount("org/model", endpoint="http://127.0.0.1:9")
    with pytest.raises(weightless.NotLoggedIn):
        weightless.mount("org/model", token="hf_unknown")
    with pytest.raises(weightless.NotMounted):
        weightless.unmount("org/model")


def test_what_this_process_maps_outlives_the_block_and_others_are_named(world: Path) -> None:
    with weightless.mount("org/model") as path, open(f"{path}/big.bin", "rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    assert mounted(world) == []
    assert len(view[: 1 << 20]) == 1 << 20
    view.close()

    mount = weightless.mount("org/model", world / "there")
    with open(f"{mount.path}/big.bin", "rb"):
        with pytest.raises(weightless.Busy) as caught:
            mount.unmount()
        assert [holder.pid for holder in caught.value.holders] == [os.getpid()]
    mount.unmount()


def test_mounts_come_back_after_the_engine_was_killed(world: Path) -> None:
    mount = weightless.mount("org/model")
    old = engine_pid()
    os.kill(old, signal.SIGKILL)
    until(lambda: not is_alive(old))
    until(lambda: [mount.state for mount in weightless.status().mounts] == ["ready"])
    assert engine_pid() != old
    assert os.path.getsize(os.path.join(mount, "big.bin")) == BIG_BYTES


def test_a_notebook_mounts_loads_watches_and_unmounts(world: Path, notebook: Notebook) -> None:
    notebook.run("path = %hub mount org/model").ok()
    notebook.run("%hub watch").ok()
    load = "from safetensors.numpy import load_file\nload_file(path + '/model.safetensors')['weight'].shape"
    assert notebook.run(load).ok().text == "(262144,)"
    until(lambda: any(re.search(r"[1-9]\d* [kM]B fetched", line) for line in notebook.places.values()))
    assert "org/model  ready" in notebook.run("%hub status").ok().text
    notebook.run("%hub watch off").ok()
    assert notebook.run("%hub unmount org/model").ok().text == f"unmounted {world}/Weightless/org/model\n"
    assert mounted(world) == []


def test_a_kernel_that_ends_takes_neither_engine_nor_mount_with_it(world: Path, notebook: Notebook) -> None:
    notebook.run("path = %hub mount org/model").ok()
    engine = engine_pid()
    notebook.run("%hub watch").ok()
    notebook.restart()
    assert is_alive(engine)
    assert mounted(world) == [str(world / "Weightless/org/model")]
    notebook.run("%load_ext weightless").ok()
    notebook.run("path = %hub mount org/model\nlen(open(path + '/model.safetensors', 'rb').read())").ok()


def test_an_interrupted_cell_is_back_within_the_deadline_of_its_read(hub: Hub, notebook: Notebook) -> None:
    notebook.run("path = %hub mount org/model").ok()
    notebook.run("%hub watch").ok()
    hub.stall()
    cell = notebook.begin("open(path + '/big.bin', 'rb').read(1 << 20)")
    until(lambda: hub.stalled > 0)
    notebook.interrupt()
    cell.wait(DEADLINE_S)
    assert cell.error in ("KeyboardInterrupt", "TimeoutError")
    # The kernel and the mount are whole.
    hub.heal()
    assert notebook.run("len(open(path + '/big.bin', 'rb').read())").ok().text == str(BIG_BYTES)


def test_a_killed_kernel_ends_at_once_and_what_it_wanted_is_not_fetched(hub: Hub, notebook: Notebook) -> None:
    notebook.run("path = %hub mount org/model").ok()
    notebook.run("%hub watch").ok()
    hub.slow(2_000_000)
    cell = notebook.begin("open(path + '/big.bin', 'rb').read()")
    until(lambda: hub.fetched > 1_000_000)
    kernel = notebook.pid
    os.kill(kernel, signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: not is_alive(kernel))
    assert time.monotonic() - killed < 1
    with pytest.raises(Exception, match="died"):
        cell.wait()

    until(lambda: [mount.open_files for mount in weightless.status().mounts] == [0])
    # What was on its way to the socket may still be counted.
    time.sleep(0.5)
    fetched = hub.fetched
    time.sleep(1)
    assert hub.fetched == fetched < BIG_BYTES
