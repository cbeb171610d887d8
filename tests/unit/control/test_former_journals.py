"""Journals of former generations are deleted, whichever step of that is the last one; the ones in use are never touched."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control.state import FleetFolder, FleetState, discard_former
from hive_mind.runtime.workers.config import HiveConfig


class Killed(BaseException):
    """Here this process ends."""


def killed_at(step: int, patch: pytest.MonkeyPatch, act: Callable[[], object]) -> bool:
    """Whether it was killed before its so many-th change of a folder."""
    left = step

    def stepped(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*given: Any, **options: Any) -> Any:
            nonlocal left
            if (left := left - 1) < 0:
                raise Killed
            return real(*given, **options)

        return change

    with patch.context() as patched:
        for name in ("unlink", "rmdir", "rename"):
            patched.setattr(os, name, stepped(getattr(os, name)))
        try:
            act()
        except Killed:
            return True
    return False


def fleet(home: Path, hive: HiveConfig, last_hive: HiveConfig) -> FleetFolder:
    folder = FleetFolder(home, "town")
    folder.path.mkdir(parents=True)
    for name in ("town", "town.g2", "town.g3"):
        folder.hive(name).mkdir(parents=True)
        for node in ("a", "b"):
            (folder.hive(name) / f"{node}.sqlite").write_text(name)
    folder.keep(FleetState(generation=3, hive=hive, last_hive=last_hive, hives=("town", "town.g2", "town.g3")))
    return folder


def left(folder: FleetFolder) -> dict[str, str]:
    hives = folder.home / "hives"
    return {str(path.relative_to(hives)): path.read_text() for path in sorted(hives.rglob("*")) if path.is_file()}


def test_a_deletion_killed_at_any_step_is_finished_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = HiveConfig("town.g3", "flat", {"": ("a", "b")})
    fleet(tmp_path / "before", now, now)
    wanted = {f"town.g3/{node}.sqlite": "town.g3" for node in ("a", "b")}
    for step in range(100):
        shutil.copytree(tmp_path / "before", home := tmp_path / f"{step}")
        folder = FleetFolder(home, "town")
        was_killed = killed_at(step, monkeypatch, partial(discard_former, folder))
        assert left(folder).items() >= wanted.items()
        discard_former(folder)
        assert left(folder) == wanted
        assert [path.name for path in (home / "hives").iterdir()] == ["town.g3"]
        if not was_killed:
            assert step > 6
            return
    pytest.fail("it never got to the end")


def test_the_last_generation_of_a_fleet_that_shares_nothing_now_stays(tmp_path: Path) -> None:
    folder = fleet(tmp_path, HiveConfig("town.g3", "single"), HiveConfig("town.g2", "flat", {"": ("a", "b")}))
    assert discard_former(folder) == ["town"]
    assert sorted({name.partition("/")[0] for name in left(folder)}) == ["town.g2", "town.g3"]
