"""Small disks to fill, and to take the right to write from; and a slow one."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, check=False, timeout=100
    )
    if made.returncode:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True, timeout=100)


@pytest.fixture
def slow_disk() -> Iterator[Path]:
    """A folder that is on a disk, also where those of tests lie in memory: a checkpoint there takes long enough to be hit."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)
