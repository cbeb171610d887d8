"""An archive is imported where something is already: nothing of it is touched, and an import that was cut short is done again."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control.archives import restoring
from hive_mind.control.archives.archive import export, import_
from hive_mind.control.state import FleetFolder
from hive_mind.errors import InvalidInput
from tests.unit.control.archived import exported, provenance, run


def paths(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("there", ["agents/ben/memory.sqlite", "hives/town/x.sqlite", "fleets/town/state.json"])
def test_nothing_that_is_there_is_touched(archive: Path, tmp_path: Path, there: str) -> None:
    path = tmp_path / "home" / there
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    before = paths(tmp_path / "home")

    with pytest.raises(InvalidInput, match="already"):
        run(import_(archive, tmp_path / "home"))

    assert paths(tmp_path / "home") == before


class Killed(BaseException):
    """The process is no more."""


def test_whoever_is_killed_while_importing_imports_again(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tidy = Path.rename, shutil.rmtree
    for steps in range(4):
        to, left = tmp_path / str(steps), [steps]

        def rename(self: Path, target: Path, left: list[int] = left, to: Path = to) -> Path:
            if target.is_relative_to(to) and ".import" not in str(target):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", rename)
            patch.setattr(restoring, "_tidy", lambda *_, **__: None)
            with suppress(Killed):
                run(import_(archive, to))
        if is_killed := left[0] < 0:
            assert not FleetFolder(to, "town").exists
            run(import_(archive, to))
        assert provenance(to) == provenance(home)
        assert exported(to, "ann") == exported(home, "ann")
        assert is_killed == (steps < 3)
        tidy(to)


def test_a_fleet_that_was_purged_since_is_imported_anew(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise Killed

    to = tmp_path / "to"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _unless(Path.unlink, "complete", killed))
        with pytest.raises(Killed):
            run(import_(archive, to))
    for name in ("agents", "hives", "fleets"):
        shutil.rmtree(to / name)

    run(import_(archive, to))

    assert exported(to, "ann") == exported(home, "ann")
    assert [path.name for path in to.iterdir() if path.name.startswith(".")] == []


def _unless(real: Callable[..., Any], name: str, other: Callable[..., Any]) -> Callable[..., Any]:
    def called(path: Path, *given: Any, **options: Any) -> Any:
        return other(path) if path.name == name else real(path, *given, **options)

    return called


def test_another_archive_waits_for_one_that_was_cut_short(
    home: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(restoring._Import, "_put_in_place", fail)
        with suppress(Killed):
            run(import_(archive, tmp_path / "to"))
    run(export(home, "town", tmp_path / "b.zip"))

    with pytest.raises(InvalidInput, match="another archive"):
        run(import_(tmp_path / "b.zip", tmp_path / "to"))
    assert run(import_(archive, tmp_path / "to")).agents == ("ann", "ben")
