"""What is old and has ended goes from ledger and disk; its name is never used again, and what waits stays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import old_runs, prune, run_called, run_ids, say_to
from hive_mind.errors import InvalidInput
from hive_mind.ledger import Ledger, sqlite
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import Toolbox
from tests.unit.agents.run_builders import decide_all
from tests.unit.agents.runs.test_sub_agents import peek

ASK = WorkerSpec.model_validate(
    {
        "id": "w",
        "entry": "look",
        "nodes": [
            {"id": "look", "kind": "tool", "tool": "peek", "outputs": ["seen"]},
            {"id": "ask", "kind": "person", "prompt": "Go on?", "outputs": ["word"]},
            {"id": "later", "clientFacing": True},
        ],
        "edges": [{"source": "look", "target": "ask"}],
    }
)


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


async def ended(parts: RunParts, run: str) -> None:
    executor = RunExecutor(run, parts)
    await executor.start(ASK, {})
    await executor.drive()
    await decide_all(parts, edit="yes")
    await say_to(parts.ledger, run, "thanks")
    assert (await executor.drive()).outcome == "accepted"


@asynccontextmanager
async def with_runs(folder: Path) -> AsyncIterator[tuple[RunParts, Clock]]:
    ledger = await sqlite.open(folder / "ledger.sqlite")
    clock = Clock()
    parts = RunParts("ada", ledger, lambda *_: Toolbox([peek]), folder=folder, clock_ms=clock)
    for number in range(3):
        clock.now = number * 1_000
        await ended(parts, f"r{number}")
    waiting = RunExecutor("waits", parts)
    await waiting.start(ASK, {})
    await waiting.drive()
    yield parts, clock
    await ledger.close()


async def streams(ledger: Ledger) -> set[str]:
    return {head.stream.partition("/")[0] + "/" + head.stream.partition("/")[2][:2] for head in await ledger.heads("")}


async def test_old_runs_go_with_their_files_but_not_their_names_and_those_that_wait_or_are_newer_stay(tmp_path: Path) -> None:
    async with with_runs(tmp_path) as (parts, clock):
        # Those that ended last may stay however old.
        assert [one.run for one in await old_runs(parts.ledger, before_ms=1 << 40, keep=2)] == ["r0"]
        found = await old_runs(parts.ledger, before_ms=1_500)
        assert [(one.run, one.outcome, one.ended_ms) for one in found] == [("r0", "accepted", 0), ("r1", "accepted", 1_000)]
        assert [one.run for one in await prune(parts.ledger, tmp_path / "runs", found, clock)] == ["r0", "r1"]
        assert sorted(await run_ids(parts.ledger)) == ["r2", "waits"]
        assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["r2", "waits"]
        assert {head.stream for head in await parts.ledger.heads("word/")} == {"word/r2"}
        assert sorted([view.item.subject.partition("/")[0] for view in await parts.desk.open()]) == ["waits"]
        assert await old_runs(parts.ledger, before_ms=1_500) == []
        with pytest.raises(InvalidInput, match="there was a run r0, which is pruned"):
            await RunExecutor("r0", parts).start(ASK, {})
        with pytest.raises(InvalidInput, match="run r0 has ended and was pruned"):
            await run_called(parts.ledger, "r0")


async def test_a_folder_that_a_kill_left_without_ledger_goes_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with with_runs(tmp_path) as (parts, clock):

        def killed(*_: Any) -> None:
            raise OSError("killed")

        with monkeypatch.context() as patched:
            patched.setattr("shutil.rmtree", killed)
            with pytest.raises(OSError, match="killed"):
                await prune(parts.ledger, tmp_path / "runs", await old_runs(parts.ledger, 1 << 40), clock)
        assert (tmp_path / "runs" / "r0").is_dir()
        assert await prune(parts.ledger, tmp_path / "runs", [], clock) == []
        assert [path.name for path in (tmp_path / "runs").iterdir()] == ["waits"]
