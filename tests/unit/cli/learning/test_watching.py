"""A folder that stays learned: what it says is what is known, whatever happens to its files and to the one who watches."""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.cli.learning import learn
from hive_mind.cli.learning.learn import FolderWatcher, state_after_look
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendRejected, BackendTimeout
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.store import Change
from tests.builders import Home
from tests.chance import seed_of_this_run
from tests.unit.cli.learning.learner import learner_over

ROUNDS, KILLS_EVERY_WRITES = 12, 9
LINES = [f"The {name} opens at {hour} on working days." for name in "mill dam weir lock quay".split() for hour in range(6, 10)]


class Killed(Exception):
    """The power went."""


class MortalHome(Home):
    """A memory whose process may be killed between any two writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_left, self.error = -1, Killed()
        self.on_write: Callable[[], object] = lambda: None
        self._write = self._kept.write
        self._kept.write = self._written  # type: ignore[method-assign]

    async def _written(self, changes: Sequence[Change]) -> None:
        self.on_write()
        self.writes_left -= 1
        if self.writes_left == 0:
            raise self.error
        await self._write(changes)


def watcher(home: Home, *folders: Path) -> tuple[FolderWatcher, CognitiveMemory]:
    """As after a start."""
    memory = home.memory()
    return FolderWatcher(folders, learner_over(LearningAgent("ada", memory, ExtractiveReader()))), memory


async def caught_up(watching: FolderWatcher) -> None:
    for _ in range(10):
        if await watching.look():
            return
    raise AssertionError("it never says that it is up to date")


async def known(memory: CognitiveMemory) -> dict[str, list[str]]:
    return {fact.content: sorted(fact.sources) for fact in await memory.get_all_facts()}


async def said(*folders: Path) -> dict[str, list[str]]:
    """What a memory knows that learns them for the first time."""
    watching, memory = watcher(Home(), *folders)
    await caught_up(watching)
    return await known(memory)


def replace_whole(path: Path, text: str) -> None:
    """As editors save."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text)
    beside.replace(path)


def change(folder: Path, chance: random.Random) -> None:
    """One thing that people do to files."""
    path = folder / f"{chance.choice('abcd')}.md"
    text = "\n\n".join(chance.sample(LINES, chance.randrange(5)))
    match chance.randrange(6):
        case 0 if path.exists():
            path.unlink()
        case 1 if path.exists():
            path.rename(folder / f"{chance.choice('abcd')}.md")
        case 2 if path.exists():
            (folder / "below").mkdir(exist_ok=True)
            path.rename(folder / "below" / path.name)
        case 3:
            path.write_text(text[: len(text) // 2])
        case _:
            replace_whole(path, text)


# The last two: a source was killed while it confirmed what another one's edit had replaced, and changed its mind.
@pytest.mark.parametrize("seed", [*(f"{seed_of_this_run()}/{number}" for number in range(8)), "77/7", "77/112"])
async def test_what_the_folder_says_is_known_after_edits_renames_deletes_and_kills(tmp_path: Path, seed: str) -> None:
    chance, home = random.Random(seed), MortalHome()
    watching, memory = watcher(home, tmp_path)
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(1, 4)):
            change(tmp_path, chance)
        home.writes_left = chance.choice((-1, chance.randrange(1, KILLS_EVERY_WRITES)))
        try:
            for _ in range(chance.randrange(1, 4)):
                await watching.look()
        except Killed:
            home.writes_left = -1
            watching, memory = watcher(home, tmp_path)
    home.writes_left = -1
    await caught_up(watching)
    assert await known(memory) == await said(tmp_path), seed


def scenario(work: Callable[[FolderWatcher, CognitiveMemory], object], home: Home, *folders: Path) -> None:
    watching, memory = watcher(home, *folders)
    asyncio.run(work(watching, memory))  # type: ignore[arg-type]


def test_a_file_is_not_read_while_it_changes_from_look_to_look(tmp_path: Path) -> None:
    async def life(watching: FolderWatcher, memory: CognitiveMemory) -> None:
        (tmp_path / "a.md").write_text("The mill is")
        assert not await watching.look()
        replace_whole(tmp_path / "a.md", "The mill is old.")
        assert not await watching.look()
        assert await known(memory) == {}
        assert await watching.look()
        assert list(await known(memory)) == ["The mill is old."]

    scenario(life, Home(), tmp_path)


async def test_a_process_that_is_silent_for_a_while_ends_no_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = MortalHome()
    (tmp_path / "a.md").write_text("The mill is old.")
    watching, memory = watcher(home, tmp_path)
    home.writes_left, home.error = 1, BackendTimeout("resident", "no answer in 15 s")
    clock_s = [0.0]
    monkeypatch.setattr(learn, "monotonic", lambda: clock_s[0])
    home.on_write = lambda: clock_s.append(clock_s.pop() + 15.0)
    states = [await state_after_look(watching) for _ in range(4)]
    # A pause is as long as looks are, not as what is waited for.
    assert (watching.looked_s, clock_s > [15.0]) == (0.0, True)
    assert states == ["", "trying again: resident: no answer in 15 s", *["up to date: 1 file"] * 2]
    assert list(await known(memory)) == ["The mill is old."]

    (tmp_path / "b.md").write_text("The dam is new.")
    home.writes_left, home.error = 1, BackendRejected("resident", "the database is damaged")
    assert not await state_after_look(watching)
    with pytest.raises(BackendRejected):
        await state_after_look(watching)


def test_a_folder_that_vanishes_changes_nothing_and_is_read_again_when_it_is_back(tmp_path: Path) -> None:
    folder, away = tmp_path / "notes", tmp_path / "away"
    folder.mkdir()
    (folder / "a.md").write_text("The mill is old.")

    async def life(watching: FolderWatcher, memory: CognitiveMemory) -> None:
        await caught_up(watching)
        folder.rename(away)
        assert [await watching.look() for _ in range(3)] == [False] * 3
        assert list(await known(memory)) == ["The mill is old."]
        (away / "a.md").unlink()
        (away / "b.md").write_text("The dam is new.")
        away.rename(folder)
        await caught_up(watching)
        assert list(await known(memory)) == ["The dam is new."]

    scenario(life, Home(), folder)


def test_after_a_start_only_what_changed_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The mill is old.")
    (tmp_path / "b.md").write_text("The dam is new.")
    home = MortalHome()

    async def life(watching: FolderWatcher, _: CognitiveMemory) -> None:
        await caught_up(watching)

    scenario(life, home, tmp_path)
    os.utime(tmp_path / "a.md", (1, 1))
    home.writes_left = 1
    scenario(life, home, tmp_path)

    (tmp_path / "b.md").write_text("The dam is old.")
    with pytest.raises(Killed):
        scenario(life, home, tmp_path)


def test_what_cannot_be_read_any_more_stays_and_what_is_empty_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The mill is old.")
    (tmp_path / "b.md").write_text("The dam is new.")

    async def life(watching: FolderWatcher, memory: CognitiveMemory) -> None:
        await caught_up(watching)
        (tmp_path / "a.md").write_bytes(bytes(range(256)))
        (tmp_path / "b.md").write_text("")
        await caught_up(watching)
        assert list(await known(memory)) == ["The mill is old."]

    scenario(life, Home(), tmp_path)


@pytest.mark.parametrize("write", range(1, 5))
async def test_a_file_that_comes_back_is_read_though_the_watcher_was_killed_when_it_was_gone(tmp_path: Path, write: int) -> None:
    file, home = tmp_path / "a.md", MortalHome()
    file.write_text("The mill is old.")
    watching, _ = watcher(home, tmp_path)
    await caught_up(watching)
    file.unlink()
    home.writes_left = write
    with contextlib.suppress(Killed):
        await caught_up(watching)
    home.writes_left = -1
    file.write_text("The mill is old.")
    watching, memory = watcher(home, tmp_path)
    await caught_up(watching)
    assert list(await known(memory)) == ["The mill is old."]


async def test_files_in_other_places_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes", "notes-of-others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"The mill of {name} is old.")

    watching, memory = watcher(Home(), tmp_path / "notes")
    watcher_of_others = FolderWatcher([tmp_path / "notes-of-others"], watching.learner)
    await caught_up(watcher_of_others)
    (tmp_path / "notes-of-others" / "a.md").unlink()
    await caught_up(watching)
    assert len(await known(memory)) == 2
