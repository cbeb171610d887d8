"""What agents of a worker learn from their sources, in all topologies, and once; what can't be read is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.runtime.workers import agents as worker_agents
from tests.unit.runtime.worker_builders import NAMES, agent, config, play, running, source, with_agent
from tests.waiting import until

QUESTION = "When does the ferry to Corrin leave?"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "notes.txt"
    file.write_text("The ferry to Corrin leaves at nine. Pump D4 cools the transformers.\n")
    return file


async def test_agents_that_are_alone_are_ready_once_they_have_learned_and_know_that_themselves(
    tmp_path: Path, notes: Path
) -> None:
    async with running(with_agent(config(tmp_path, "single"), "ada", sources=(source(notes),))) as worker:
        await until(lambda: worker.status().is_ready)
        assert str(notes) in agent(worker, "ada").learned
        kept = await worker.call("ben", "store", content="The gate is blue.", concept="gate")

        assert (await worker.call("ada", "ask", question=QUESTION))["is_known"]
        assert not (await worker.call("ben", "ask", question=QUESTION))["is_known"]
        assert (await worker.call("ben", "search", query="gate"))["hits"][0]["fact_id"] == kept["fact_id"]
        assert len((await worker.call("ben", "facts"))["facts"]) == 1
        stats = await worker.call("ben", "stats")
        # Of a node nothing, for there is none.
        assert (stats["facts"], stats["sources"], "outbox" in stats) == (1, 1, False)
        await worker.call("ben", "retract", fact_id=kept["fact_id"])
        assert (await worker.call("ben", "facts", local=True))["facts"] == []
        with pytest.raises(InvalidInput, match="not in a hive"):
            await worker.call("ben", "members")
        assert worker.status().nodes == ()


@pytest.mark.parametrize("topology", ["single", "flat", "sharded"])
async def test_a_worker_that_starts_again_over_an_edited_source_answers_with_what_that_says_now(
    tmp_path: Path, notes: Path, topology: str
) -> None:
    for time in ("nine", "eleven"):
        notes.write_text(f"The ferry to Corrin leaves at {time}. Pump D4 cools the transformers.\n")
        async with running(with_agent(config(tmp_path, topology, "sqlite"), "ada", sources=(source(notes),))) as worker:
            await until(lambda worker=worker: worker.status().is_ready and agent(worker, "ada").pending == 0)
            names = ("ada",) if topology == "single" else NAMES
            answers = [(await worker.call(name, "ask", question=QUESTION))["answer"] for name in names]

            assert all(time in answer for answer in answers)
            assert not any("nine" in answer for answer in answers if time == "eleven")
            assert agent(worker, "ada").facts == 2


def test_sources_are_learned_once_and_a_changed_file_again(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[str] = []
    from hive_mind.runtime.workers import agents as worker_agents

    real = worker_agents.learn_file

    async def noted(who: Any, path: str, sources: Any) -> Any:
        learned.append(path)
        return await real(who, path, sources)

    monkeypatch.setattr(worker_agents, "learn_file", noted)

    async def run_once(facts: int) -> None:
        async with running(with_agent(config(tmp_path, store="sqlite"), "ada", sources=(source(notes),))) as worker:
            await until(lambda: worker.status().is_ready and agent(worker, "ada").learned == {str(notes): source(notes).digest})
            assert agent(worker, "ada").facts == facts

    play(run_once(2))
    play(run_once(2))
    assert learned == [str(notes)]
    notes.write_text(notes.read_text() + "The museum opens at ten.\n")
    play(run_once(3))
    assert learned == [str(notes)] * 2
    assert json.loads((tmp_path / "agents" / "ada" / "sources.json").read_text()) == {str(notes): source(notes).digest}


async def test_a_source_that_can_not_be_read_is_told_and_the_others_go_on(tmp_path: Path, notes: Path) -> None:
    missing = tmp_path / "missing.txt"

    given = with_agent(config(tmp_path), "ada", sources=(source(missing), source(notes)))
    async with running(with_agent(given, "ben", sources=(source(notes),))) as worker:
        await until(lambda: agent(worker, "ada").phase == "failed" and agent(worker, "ben").facts == 2)
        await until(lambda: str(notes) in agent(worker, "ada").learned)
        assert "missing.txt is not there" in agent(worker, "ada").error
        assert not worker.status().is_ready
        assert (await worker.call("ada", "ask", question=QUESTION))["is_known"]

        # It is tried again.
        missing.write_text("The museum opens at ten.\n")
        await until(lambda: worker.status().is_ready)
        assert agent(worker, "ada").facts == 3


async def test_what_is_wrong_with_all_sources_is_told_once(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / "more.txt"
    more.write_text("The museum opens at ten.\n")

    async def unheard(*_: object) -> None:
        raise BackendUnavailable("model", "it can't be reached")

    monkeypatch.setattr(worker_agents, "learn_file", unheard)

    async with running(with_agent(config(tmp_path), "ada", sources=(source(more), source(notes)))) as worker:
        await until(lambda: agent(worker, "ada").phase == "failed" and len(worker._agents["ada"]._bad_sources) == 2)
        assert agent(worker, "ada").error == "model: it can't be reached"


async def test_what_is_not_among_its_roots_no_agent_learns_whoever_asks(tmp_path: Path, notes: Path) -> None:
    foreign, inside = tmp_path / "keys" / "root.key", tmp_path / "sources"
    for folder in (foreign.parent, inside):
        folder.mkdir()
    foreign.write_text("The key of the town is under the mat.")
    (inside / "link.txt").symlink_to(foreign)
    (inside / "a.txt").write_text(notes.read_text())
    (inside / "empty.txt").write_text("")
    asked = [
        str(foreign),
        str(inside / "link.txt"),
        f"{inside}/../keys/root.key",
        str(inside / "a.txt"),
        str(inside / "empty.txt"),
    ]

    async with running(with_agent(config(tmp_path), "ada", roots=(str(inside),))) as worker:
        await until(lambda: worker.status().is_ready)
        done = await worker.call("ada", "learn_files", paths=asked)

        assert [one["file"] for one in done["skipped"]] == asked[:3]
        assert all("where its sources are" in one["reason"] for one in done["skipped"])
        assert [(one["file"], one["added"]) for one in done["learned"]] == [(asked[3], 2), (asked[4], 0)]
        assert set(agent(worker, "ada").learned) == set(asked[3:])
