"""Bits that flip on a disk: each that changes anything is found and named, all else is kept, nothing false is ever shown."""

import asyncio
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hive_mind.errors import BackendError
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import fact_id
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, FactStore, Link, PutVector, ReviseFact, SetMeta, sqlite
from hive_mind.store.sqlite import problems
from hive_mind.store.sqlite.reading import repair
from tests.sampled import usually

FACTS = 400
# `make chaos-store` flips more.
FLIPS = int(os.environ.get("HIVE_FLIPS", "5"))
Kept = dict[str, Fact | Episode]


def a_fact(number: int) -> Fact:
    content = f"Pump {number} was checked. " + "It ran well and nobody complained. " * (number % 40)
    return Fact(fact_id(content), content, "pumps", 0.5, ("log",), number)


def written() -> Iterator[list[Change]]:
    yield [AddEntity("hall", "The hall"), SetMeta("embedding.model", "m")]
    for number in range(FACTS):
        fact = a_fact(number)
        episode = Episode(f"episode {number}", f"Report {number}. " * (number % 300), "log", "", number)
        links = [Link(Relation.DERIVES_FROM, fact.id, episode.id), Link(Relation.MENTIONS, fact.id, "hall")]
        yield [AddFact(fact), AddEpisode(episode), *links, PutVector("m", fact.id, np.full(64, number % 9, np.float32))]
        if number % 5 == 4:
            yield [ReviseFact(replace(a_fact(number - 4), confidence=0.9, sources=("log", "crew")))]


async def everything(store: FactStore) -> tuple[Kept, int]:
    """All facts and episodes by id, and how many edges there are."""
    kept: Kept = {fact.id: fact async for batch in store.facts() for fact in batch}
    kept |= {episode.id: episode async for batch in store.all_episodes() for episode in batch}
    return kept, sum([len(batch) async for batch in store.links()])


async def shown(path: Path) -> tuple[Kept, int, str]:
    """What a person would see, and what the store says of itself."""
    store = await sqlite.open(path)
    try:
        return *await everything(store), store.trouble
    finally:
        await store.close()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A record that was closed, and one whose process was killed with half of it in the log."""
    folder = tmp_path_factory.mktemp("records")
    closed, killed = folder / "closed.sqlite", folder / "killed.sqlite"

    async def write() -> None:
        store = await sqlite.open(closed)
        for number, changes in enumerate(written()):
            await store.write(changes)
            if number == FACTS // 2:
                await store.tidy()
        # As a kill leaves it: the files are copied while it is open.
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{closed}{suffix}", f"{killed}{suffix}")
        await store.close()

    asyncio.run(write())
    return closed, killed


def copied(path: Path, folder: Path) -> Path:
    copy = folder / "memory.sqlite"
    for suffix in ("", "-wal"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    return copy


def flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def check_flip(original: Path, suffix: str, seed: int, folder: Path, truth: tuple[Kept, int]) -> str:
    """Flip one bit of a copy, look at it as a person would, repair it; what was found, "" for a bit that nobody reads."""
    path = copied(original, folder)
    damaged = Path(f"{path}{suffix}")
    flip(damaged, random.Random(seed).randrange(8 * damaged.stat().st_size))
    told = problems(path)
    try:
        kept, links, trouble = asyncio.run(shown(path))
    except BackendError as error:
        kept, links, trouble = {}, 0, str(error)
        told = [*told, trouble]
    assert kept.items() <= truth[0].items(), f"seed {seed}: something false was shown"
    if (kept, links) != truth:
        assert told, f"seed {seed}: {len(truth[0]) - len(kept)} things and {truth[1] - links} links are gone without a word"
    if told:
        done = repair(path)
        kept, links, trouble = asyncio.run(shown(path))
        assert not trouble, f"seed {seed}: after its repair: {trouble}"
        assert kept.items() <= truth[0].items(), f"seed {seed}: something false was shown after the repair"
        gone = len(truth[0]) - len(kept)
        assert gone <= 1, f"seed {seed}: one bit cost {gone} facts and episodes"
        assert links >= truth[1] - 400 * gone - 1, f"seed {seed}: one bit cost {truth[1] - links} links"
        assert len(done.lost) >= gone, f"seed {seed}: what was lost is not named"
        assert not problems(path), f"seed {seed}: not whole after its repair"
    return told[0] if told else ""


@pytest.mark.slow
@pytest.mark.parametrize("state", usually(["closed", "killed", "log"], "closed", "log"))
def test_a_flipped_bit_is_found_and_costs_what_it_hit(state: str, records: tuple[Path, Path], tmp_path: Path) -> None:
    original = records[state != "closed"]
    truth = asyncio.run(shown(copied(original, tmp_path)))[:2]
    assert len(truth[0]) == 2 * FACTS
    suffix = "-wal" if state == "log" else ""
    found = [check_flip(original, suffix, seed, tmp_path, truth) for seed in range(FLIPS)]
    # The rest hit what SQLite left free on its pages, and pages of the log that newer ones have replaced.
    assert sum(map(bool, found)) > FLIPS // 10, found
