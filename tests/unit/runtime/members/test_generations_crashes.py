"""A move that is done again, or dies at any of its steps, or fails: nothing is changed until all of it is there."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.runtime.members import generations
from tests.unit.runtime.moving import FEDERATED, SHARDED, all_of, begun, contents, hives, moved, run


def test_journals_that_are_there_are_replaced_only_if_no_node_ever_had_them_open(tmp_path: Path) -> None:
    begun(tmp_path)
    moved(tmp_path)

    with pytest.raises(InvalidInput, match="is there already"):
        moved(tmp_path)
    assert moved(tmp_path, FEDERATED, replace=True).facts == 12

    async def begin() -> None:
        await (await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet.g2" / "a.sqlite")).close()

    run(begin())
    with pytest.raises(InvalidInput, match="has run"):
        moved(tmp_path, replace=True)


class Killed(BaseException):
    """The process is no more."""


class Dying:
    """Lets so many steps happen; from then on nothing does, tidying up neither."""

    def __init__(self, patch: pytest.MonkeyPatch, steps: int) -> None:
        self.left = steps
        for owner, name in ((generations, "_sync"), (generations, "_emptied"), (shutil, "rmtree"), (Path, "rename")):
            patch.setattr(owner, name, self._stepped(getattr(owner, name)))
        write_one = generations._write_one

        async def write(*given: Any) -> None:
            self._step()
            await write_one(*given)

        patch.setattr(generations, "_write_one", write)

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def _stepped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **options: Any) -> Any:
            self._step()
            return real(*given, **options)

        return step


def deaths(home: Path, folder: Path) -> Iterator[int]:
    """The number of steps, again and again in a copy of the home, until it is one too many."""
    for steps in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(home, folder)
        with pytest.MonkeyPatch.context() as patch:
            dying = Dying(patch, steps)
            with suppress(Killed):
                moved(folder, replace=True)
            if dying.left > 0:
                return
        yield steps


@pytest.mark.parametrize("is_second", [False, True])
def test_whoever_is_killed_has_changed_nothing_and_does_it_again(tmp_path: Path, is_second: bool) -> None:
    home, folder = tmp_path / "home", tmp_path / "copy"
    before = begun(home)
    if is_second:
        moved(home, FEDERATED)
    files = contents(home / "hives" / "fleet")

    died = 0
    for steps in deaths(home, folder):
        died = steps + 1
        assert contents(folder / "hives" / "fleet") == files
        assert all_of(folder, SHARDED) in {(), before}
        moved(folder, replace=True)
        assert all_of(folder, SHARDED) == before
        assert hives(folder) == ["fleet", "fleet.g2"]

    assert died > 10


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)

    async def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(generations, "_write_one", fail)

    with pytest.raises(BackendError, match="No space"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]
