"""A full disk: Kuzu 0.11 ends the process when it closes a database whose log met the disk's end, so none gets there."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hive_mind.errors import BackendError
from hive_mind.model.content import Episode
from hive_mind.model.fact import Relation
from hive_mind.store.base import AddEpisode, AddFact, Change, Link, PutVector, ReviseFact
from hive_mind.store.kuzu import upkeep
from hive_mind.store.kuzu.batch import Batch
from hive_mind.store.kuzu.upkeep import log_bytes
from tests.unit.store.kuzu_builders import a_fact, adds, contents, database

FACTS = [a_fact(f"Known {n}") for n in range(50)]


def disk(monkeypatch: pytest.MonkeyPatch, total: int, free: int) -> None:
    monkeypatch.setattr(upkeep.shutil, "disk_usage", lambda _: SimpleNamespace(total=total, free=free))


def test_what_the_disk_has_no_room_for_is_refused_whole_and_written_when_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(tmp_path / "x") as opened:
        opened.write(adds(10))
        disk(monkeypatch, total=1 << 30, free=1 << 20)
        with pytest.raises(BackendError, match=r"1,024 KB are free on its disk.*make room"):
            opened.write(adds(10, "Later"))
        assert len(contents(opened)) == 10

        disk(monkeypatch, total=1 << 30, free=2 << 20)
        opened.write(adds(10, "Later"))

        assert len(contents(opened)) == 20


def test_a_disk_that_does_not_tell_its_size_is_not_taken_for_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch, total=0, free=0)
    with database(tmp_path / "x") as opened:
        opened.write(adds(1))


def test_a_disk_that_can_not_be_asked_is_left_for_the_write_to_find_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: Path) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(upkeep.shutil, "disk_usage", gone)
    with database(tmp_path / "x") as opened:
        opened.write(adds(1))
        assert len(contents(opened)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        adds(1),
        adds(500, "Möwen über Häfen"),
        [AddEpisode(Episode("e", "ü" * 100_000, "notes.md", "", 1))],
        [PutVector("model", str(n), np.ones(384, np.float32)) for n in range(50)],
        [ReviseFact(replace(fact, confidence=0.9)) for fact in FACTS],
        [Link(Relation.SUPERSEDES, FACTS[0].id, fact.id) for fact in FACTS[1:]],
    ],
    ids=["fact", "facts", "episode", "vectors", "revised", "links"],
)
def test_no_write_takes_more_of_the_disk_than_was_asked_for(tmp_path: Path, changes: list[Change]) -> None:
    path = tmp_path / "x"
    with database(path) as opened:
        opened.write([AddFact(fact) for fact in FACTS])
        before = log_bytes(path)

        opened.write(changes)

        assert 0 < log_bytes(path) - before <= Batch(changes).log_bytes_max
