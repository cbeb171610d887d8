"""Small disks to fill, and to take the right to write from; and a slow one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.quota import disk_of


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    with disk_of(4, tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def slow_disk() -> Iterator[Path]:
    """A folder that is on a disk, also where those of tests lie in memory: a checkpoint there takes long enough to be hit."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)
