"""A Jupyter kernel whose cells are run one by one."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import nbformat
from nbclient import NotebookClient

from .conftest import PATIENCE_S


class Notebook:
    """A kernel with this process's environment; its cells and their outputs."""

    def __init__(self) -> None:
        self.book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
        # A loop on a thread of its own, so that a cell can run while the test does something else.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.client = NotebookClient(self.book, timeout=int(PATIENCE_S), allow_errors=True, shutdown_kernel="immediate")
        self.manager: Any = self.client.create_kernel_manager()
        self._do(self.client.async_start_new_kernel())
        self._do(self.client.async_start_new_kernel_client())
        # What stands at each place that can change: nbclient looks at the outputs of the cell that runs, and no others.
        self.places: Dict[str, str] = {}
        self._watching = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)

    def run(self, source: str) -> "Cell":
        """Runs a cell to its end."""
        return self.begin(source).wait()

    def begin(self, source: str) -> "Cell":
        """Runs a cell and does not wait for it."""
        cell = nbformat.v4.new_code_cell(source)  # type: ignore[no-untyped-call]
        self.book.cells.append(cell)
        index = len(self.book.cells) - 1
        future = asyncio.run_coroutine_threadsafe(self.client.async_execute_cell(cell, index), self._loop)
        return Cell(cell, future)

    @property
    def pid(self) -> int:
        """The kernel's process."""
        pid: int = self.manager.provisioner.process.pid
        return pid

    def interrupt(self) -> None:
        """The stop button."""
        self._do(self.manager.interrupt_kernel())

    def restart(self) -> None:
        """The restart button."""
        self._do(self.manager.restart_kernel(now=False))
        client: Any = self.client.kc
        self._do(client.wait_for_ready(timeout=PATIENCE_S))

    def end(self) -> None:
        """Ends the kernel, as closing a notebook does."""
        self._watching.cancel()
        self._do(self.client._async_cleanup_kernel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _watch(self) -> None:
        client = self.manager.client()
        client.start_channels(shell=False, stdin=False, hb=False, control=False)
        try:
            while True:
                message = await client.get_iopub_msg(timeout=None)
                if message["msg_type"] in ("display_data", "update_display_data"):
                    content = message["content"]
                    self.places[content["transient"]["display_id"]] = content["data"]["text/plain"]
        finally:
            client.stop_channels()

    def _do(self, work: Any) -> Any:
        async def awaited() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(PATIENCE_S)


class Cell:
    """A cell that was begun."""

    def __init__(self, cell: Any, future: Any) -> None:
        self._cell = cell
        self._future = future

    def wait(self, seconds: float = PATIENCE_S) -> "Cell":
        """Waits for its end."""
        self._future.result(seconds)
        return self

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self._future.done()

    @property
    def error(self) -> Optional[str]:
        """The name of the exception that ended it."""
        outputs: List[Dict[str, Any]] = self._cell.outputs
        return next((output["ename"] for output in outputs if output["output_type"] == "error"), None)

    @property
    def text(self) -> str:
        """What stands below it, tracebacks included."""
        parts = []
        for output in self._cell.outputs:
            if output["output_type"] == "stream":
                parts.append(output["text"])
            elif output["output_type"] == "error":
                parts.append("\n".join(output["traceback"]))
            else:
                parts.append(output["data"]["text/plain"])
        return "\n".join(parts)

    def ok(self) -> "Cell":
        """Fails the test if the cell failed."""
        assert self.error is None, self.text
        return self


def until(is_so: Callable[[], Any], seconds: float = PATIENCE_S) -> None:
    """Waits for what another process or thread does."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # The second if it ends between open and read.
        return False


def environment_for_kernels(monkeypatch: Any) -> None:
    """What a kernel needs beside the test's own environment: the package, and no files of its own elsewhere."""
    source = os.path.join(os.path.dirname(os.path.dirname(__file__)), "src")
    monkeypatch.setenv("PYTHONPATH", source)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
