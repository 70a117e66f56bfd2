"""What would be uploaded."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import weightless

PACKAGE = Path(__file__).parents[1]


def build(what: str, into: Path) -> Path:
    command = f"import hatchling.build; print(hatchling.build.build_{what}({str(into)!r}))"
    told = subprocess.run([sys.executable, "-c", command], cwd=PACKAGE, check=True, capture_output=True, text=True)
    return into / told.stdout.strip()


def test_the_wheel_is_for_every_system_and_needs_nothing(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path)
    assert wheel.name == f"weightless-{weightless.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = f"weightless-{weightless.__version__}.dist-info"
        metadata = archive.read(f"{about}/METADATA").decode()
    modules = {path.name for path in (PACKAGE / "src/weightless").iterdir() if path.is_file()}
    assert "py.typed" in modules
    assert {f"weightless/{module}" for module in modules} <= names
    assert {f"{about}/licenses/LICENSE-{licence}" for licence in ("APACHE", "MIT")} <= names
    assert "License-Expression: Apache-2.0 OR MIT" in metadata
    assert "Requires-Dist" not in metadata


def test_the_source_archive_is_whole(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        assert all(member.isfile() for member in archive.getmembers())
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert {"pyproject.toml", "LICENSE-APACHE", "LICENSE-MIT", "src/weightless/py.typed"} <= names


@pytest.mark.parametrize("licence", ["LICENSE-APACHE", "LICENSE-MIT"])
def test_the_licences_are_those_of_the_product(licence: str) -> None:
    assert (PACKAGE / licence).read_bytes() == (PACKAGE.parent / licence).read_bytes()


def test_importing_it_imports_neither_ipython_nor_the_network() -> None:
    command = "import sys, weightless; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    assert not {"IPython", "ssl", "http.client", "asyncio"} & set(told.stdout.split())
