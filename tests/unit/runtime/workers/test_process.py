"""A worker as a process: it ends with its home, which may be moved while it runs."""

import asyncio
import shutil
from pathlib import Path

import pytest

from hive_mind.runtime.workers import process
from tests.unit.runtime.worker_builders import PATIENCE_S, config
from tests.waiting import until


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_worker_whose_home_is_deleted_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    monkeypatch.setattr(process, "_LOOK_S", 0.01)
    home, moved = tmp_path / "home", tmp_path / "moved"
    home.mkdir()
    given = config(home, store=store)
    file, contact = tmp_path / "town.json", Path(given.run) / "town.json"
    file.write_bytes(given.packed())
    running = asyncio.create_task(process.run_worker(file, asyncio.Event()))
    await until(lambda: contact.exists() or running.done())
    home.rename(moved)
    looked = process.is_deleted
    looks = []
    monkeypatch.setattr(process, "is_deleted", lambda lock: looks.append(0) or looked(lock))
    await until(lambda: len(looks) >= 3)
    assert not running.done(), "it was only moved"
    shutil.rmtree(moved)
    async with asyncio.timeout(PATIENCE_S):
        await running


async def test_a_worker_runs_where_the_file_system_counts_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "is_deleted", lambda _: True)
    given = config(tmp_path / "home")
    file, contact = tmp_path / "town.json", Path(given.run) / "town.json"
    file.write_bytes(given.packed())
    stop = asyncio.Event()
    running = asyncio.create_task(process.run_worker(file, stop))
    await until(lambda: contact.exists() or running.done())
    assert contact.exists()
    assert not stop.is_set()
    stop.set()
    async with asyncio.timeout(PATIENCE_S):
        await running
