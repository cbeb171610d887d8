"""Commands that replace files are killed before each of their steps: the old is there or the new, and what is left is named."""

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import usually
from tests.servers.forked import run

CHILD_MAX_S = 120.0
LAST = "The ferry to Corrin leaves at nine."
NEW = "The kettle is blue and stands in the kitchen."
Facts = frozenset[str]


@dataclass(frozen=True)
class Home:
    """Of one agent, with files beside it; put back to how it was before each cut."""

    folder: Path

    @property
    def hive_mind(self) -> HiveMind:
        return HiveMind(self.folder / "home")

    @property
    def record(self) -> Path:
        return self.hive_mind.home / "agents" / "default" / "memory.sqlite"

    def path(self, name: str) -> Path:
        return self.folder / name

    def learn(self, text: str) -> None:
        assert self.hive_mind("learn", "-", "--source", "notes", stdin=text).code == 0

    def facts(self) -> Facts:
        return frozenset(fact["content"] for fact in self.hive_mind("facts", "list", "--limit", 1000, "-o", "json").json)

    def named_by_doctor(self) -> str:
        ended = self.hive_mind("doctor", "-o", "json")
        assert ended.code == 0, ended.out
        return json.dumps(ended.json, ensure_ascii=False)

    def names(self) -> set[Path]:
        """Files of the home that are none of those of a memory, by their stems: a log is a part of its file."""
        usual = {"memory.sqlite", "memory.sqlite.lock", "memory.sqlite-aside", "copies.jsonl"}
        files = (path for path in self.hive_mind.home.rglob("*") if path.is_file() and path.name not in usual)
        return {path for path in files if not path.name.endswith(("-wal", "-shm"))}


def cuts(home: Home, *command: object) -> Iterator[int]:
    """The command, killed before its first, second … step, each time from the same beginning, until it survives."""
    before = home.folder.with_name("before")
    shutil.copytree(home.folder, before)
    environment = os.environ | home.hive_mind.environment | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for step in range(1000):
        shutil.rmtree(home.folder)
        shutil.copytree(before, home.folder)
        words = [step, home.folder, *command]
        ended = run(
            [sys.executable, "-m", "tests.crash.cut_short", *words], CHILD_MAX_S, env=environment, cwd=home.folder, text=True
        )
        assert ended.returncode in (-9, 0), ended.stderr
        yield step
        if ended.returncode == 0:
            return
    pytest.fail("it never ended")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "place")
    home.folder.mkdir()
    return home


@contextmanager
def killed_after(record: Path) -> Iterator[None]:
    """What is written in the block stays in the log only, as when the writer is killed."""
    log = record.with_name(f"{record.name}-wal")
    reader = sqlite3.connect(record, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM node").fetchone()
    yield
    bodies = {path: path.read_bytes() for path in (record, log)}
    reader.close()
    for path, body in bodies.items():
        path.write_bytes(body)


def with_copy(home: Home) -> tuple[Facts, Facts]:
    """A memory, and the copy of it as it was before. What both have."""
    home.learn("Pump D4 cools the transformers. Pump D40 drains the tunnel.")
    copied = home.facts()
    assert home.hive_mind("backup", home.path("copy.sqlite")).code == 0
    with killed_after(home.record):
        home.learn(LAST)
    return copied | {LAST}, copied


def seen(home: Home, old: Facts, new: Facts) -> Facts:
    """What is there after a kill: one of both, and it goes on from there, whatever asks first."""
    facts = home.facts()
    assert facts in (old, new)
    home.learn(NEW)
    assert home.facts() == facts | {NEW}
    told = home.named_by_doctor()
    assert [path for path in home.names() if path.name not in told] == []
    return facts


def test_a_restoration_killed_before_any_step_leaves_the_old_memory_or_the_copy(home: Home) -> None:
    old, new = with_copy(home)
    kept = [seen(home, old, new) for _ in cuts(home, "restore", home.path("copy.sqlite"), "--force")]

    assert (kept[0], kept[-1], len(kept) > 8) == (old, new, True)
    assert {"memory.sqlite.before-1"} == {path.name for path in home.names()}
    home.record.unlink()
    assert home.hive_mind("restore", home.record.with_name("memory.sqlite.before-1")).code == 0
    assert home.facts() == old


def test_a_restoration_that_was_killed_is_done_by_the_next_one(home: Home) -> None:
    _, new = with_copy(home)
    for _ in cuts(home, "restore", home.path("copy.sqlite"), "--force"):
        assert home.hive_mind("restore", home.path("copy.sqlite"), "--force").code == 0
        assert home.facts() == new
        assert {path.name for path in home.names()} <= {"memory.sqlite.before-1", "memory.sqlite.before-2"}


def test_a_repair_killed_before_any_step_loses_no_more_than_what_was_damaged(home: Home) -> None:
    home.learn("\n".join(f"Pump {number} stands in hall {number % 7} and is red.\n" for number in range(60)))
    whole, body = home.facts(), bytearray(home.record.read_bytes())
    at = body.index(b"Pump 7 stands", body.index(b"Pump 7 stands") + 1)
    body[at + 3] ^= 0x04
    home.record.write_bytes(body)
    for _ in cuts(home, "doctor", "--repair"):
        assert len(whole - home.facts()) <= 1
        assert home.hive_mind("doctor", "--repair").code == 0
        assert len(whole - home.facts()) <= 1
        home.named_by_doctor()
        assert {path.name for path in home.names()} == {"memory.sqlite.damaged-1"}


COPIES: dict[str, tuple[str, ...]] = {"backup": ("backup",), "export": ("facts", "export")}


@pytest.mark.parametrize("kind", COPIES)
def test_half_of_a_copy_is_named_by_doctor_and_removed_by_the_next_copy(kind: str, home: Home) -> None:
    home.learn("Pump D4 cools the transformers. Pump D40 drains the tunnel.")
    old, target, halves = home.facts(), home.path("copy"), 0
    for _ in cuts(home, *COPIES[kind], target):
        half = [path for path in home.folder.glob("*copy*") if path != target] + [*home.folder.glob(".*")]
        told = home.named_by_doctor()
        assert [path for path in half if str(path) not in told] == []
        halves += len(half)
        assert home.hive_mind(*COPIES[kind], home.path("other")).code == 0
        assert {path.name for path in home.folder.iterdir()} - {"copy"} == {"home", "other"}
        assert not target.exists() or target.stat().st_size > 0
        assert home.facts() == old
    assert (halves > 0, target.exists()) == (True, True)


MANIFEST = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: harbour}
spec:
  topology: flat
  platform: {kind: compose}
  agents: [{name: ada}, {name: bob}]
  bus: "rediss://redis.example.com:6380"
"""
AGAIN: dict[str, tuple[str, ...]] = {
    "import": ("facts", "import", "all.jsonl"),
    "erase": ("erase", "--subject", "Corrin", "--yes"),
    "learn": ("learn", "notes.txt"),
    "render": ("apply", "--render", "rendered", "-f", "fleet.yaml"),
}


@pytest.mark.parametrize("kind", usually(AGAIN, "erase"))
def test_what_was_killed_before_any_step_is_done_by_doing_it_again(kind: str, home: Home, monkeypatch: pytest.MonkeyPatch):
    """Whatever else writes files: nothing that was there before is gone, and the second call ends as the first would have."""
    home.learn(f"Pump D4 cools the transformers. {LAST}")
    home.path("all.jsonl").write_text(home.hive_mind("facts", "export").out)
    home.path("notes.txt").write_text(NEW)
    home.path("fleet.yaml").write_text(MANIFEST)
    before = home.facts()

    reached: list[tuple[Facts, set[str]]] = []
    for _ in cuts(home, *AGAIN[kind]):
        monkeypatch.chdir(home.folder)
        assert home.facts() >= before - {LAST}
        ended = home.hive_mind(*AGAIN[kind])
        assert ended.code == 0, ended.err
        assert home.named_by_doctor()
        # A key is called by what it is, and each home makes its own.
        names = {re.sub(r"(?<=-)[0-9a-f]{12}(?=\.key$)", "ID", path.name) for path in home.path("rendered").rglob("*")}
        reached.append((home.facts(), names))

    assert len(reached) > 2
    assert [one for one in reached if one != reached[-1]] == []


def test_a_memory_in_a_form_that_nothing_reads_any_more_is_named(home: Home) -> None:
    home.learn(LAST)
    home.record.with_name("memory.kuzu").write_bytes(b"KUZU" + bytes(5000))
    assert "a memory in a form that nothing reads any more" in home.named_by_doctor()
    assert home.facts() == {LAST}
