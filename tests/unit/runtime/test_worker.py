"""A worker in this process: all topologies, what agents learn and when, how they sleep, and what one's trouble is to others."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hive_mind.errors import BackendUnavailable, InvalidInput, UnknownBackend
from hive_mind.memory.promotion import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime import worker as worker_module
from hive_mind.runtime import worker_agents, worker_parts
from hive_mind.runtime.worker import Worker, open_worker
from hive_mind.runtime.worker_config import BusConfig, ModelsConfig, NodeConfig
from hive_mind.runtime.worker_status import AgentStatus
from tests.unit.runtime.workers import NAMES, config, play, running, source, until, with_agent

QUESTION = "When does the ferry to Corrin leave?"


def agent(worker: Worker, name: str) -> AgentStatus:
    return next(one for one in worker.status().agents if one.name == name)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "notes.txt"
    file.write_text("The ferry to Corrin leaves at nine. Pump D4 cools the transformers.\n")
    return file


# ── topologies ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("topology", ["flat", "federated", "sharded"])
def test_what_one_agent_learns_from_its_sources_others_answer(tmp_path: Path, notes: Path, topology: str) -> None:
    async def work() -> None:
        async with running(with_agent(config(tmp_path, topology), "ada", sources=(source(notes),))) as worker:
            await until(lambda: worker.status().is_ready and agent(worker, "ada").pending == 0)
            status = worker.status()
            answers = [await worker.call(name, "ask", question=QUESTION) for name in NAMES]

            assert all("nine" in answer["answer"] for answer in answers)
            assert agent(worker, "ada").facts == 2
            assert {node.name for node in status.nodes} == {node.name for node in worker.config.nodes}
            assert status.error == ""
            assert status.memory_bytes > 0

    play(work())


def test_agents_that_are_alone_know_what_they_learned_themselves(tmp_path: Path, notes: Path) -> None:
    async def work() -> None:
        async with running(with_agent(config(tmp_path, "single"), "ada", sources=(source(notes),))) as worker:
            await until(lambda: worker.status().is_ready)
            kept = await worker.call("ben", "store", content="The gate is blue.", concept="gate")

            assert (await worker.call("ada", "ask", question=QUESTION))["is_known"]
            assert not (await worker.call("ben", "ask", question=QUESTION))["is_known"]
            assert (await worker.call("ben", "search", query="gate"))["hits"][0]["fact_id"] == kept["fact_id"]
            assert len((await worker.call("ben", "facts"))["facts"]) == 1
            assert await worker.call("ben", "stats") == {"facts": 1}
            await worker.call("ben", "retract", fact_id=kept["fact_id"])
            assert (await worker.call("ben", "facts", local=True))["facts"] == []
            with pytest.raises(InvalidInput, match="in no hive"):
                await worker.call("ben", "members")
            assert worker.status().nodes == ()

    play(work())


def test_a_node_that_is_no_founder_joins(tmp_path: Path) -> None:
    async def work() -> None:
        whole = config(tmp_path, "sharded")
        hive = msgspec.structs.replace(whole.hive, founders={"": NAMES[:3]})
        async with running(msgspec.structs.replace(whole, hive=hive)) as worker:
            await until(lambda: worker.status().is_ready and all(len(node.members) == 4 for node in worker.status().nodes))
            await worker.call("dan", "store", content="The gate is blue.", concept="gate")

            assert (await worker.call("ada", "search", query="gate"))["hits"]

    play(work())


def test_a_worker_whose_nodes_are_the_whole_hive_has_nobody_to_leave_to(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(config(tmp_path, "sharded")) as worker:
            await until(lambda: worker.status().is_ready)
            await worker.leave(5)

    play(work())


# ── settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_gate_and_the_ranking_of_the_configuration_are_used(tmp_path: Path) -> None:
    async def work() -> None:
        strict = config(tmp_path, gate=PromotionSettings(confidence_min=0.9), ranking=RankingSettings(evidence_strength=0.0))
        async with running(strict) as worker:
            await until(lambda: worker.status().is_ready)
            kept = await worker.call("ada", "store", content="The gate is blue.", confidence=0.5)
            hits = (await worker.call("ada", "search", query="gate", method="keyword"))["hits"]

            assert kept["sharing"] == "private"
            assert (await worker.call("ben", "search", query="gate"))["hits"] == []
            assert hits[0]["score"] == 1.0

    play(work())


def test_an_agent_with_a_language_model_is_told_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = worker_parts.open_model

    async def noted(*given: Any) -> Any:
        opened.append(await real(*given))
        return opened[-1]

    monkeypatch.setattr(worker_parts, "open_model", noted)
    reply = json.dumps({"facts": [{"fact": "The gate is blue.", "confidence": 0.9, "context": "gate", "speaker": ""}]})

    async def work() -> None:
        given = with_agent(config(tmp_path), "ada", model=f"scripted:{reply}", prompt="You know everything of harbours.")
        async with running(with_agent(given, "ben", model=f"scripted:{reply}")) as worker:
            await until(lambda: worker.status().is_ready)
            for name in ("ada", "ben"):
                await asyncio.gather(worker.call(name, "learn", text="Blue it is."), return_exceptions=True)

    play(work())
    (model,) = opened
    told = ["harbours" in prompt.instructions for prompt in model.prompts]
    assert any(told)
    assert not all(told)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"models": ModelsConfig(store="tape")}, UnknownBackend),
        ({"bus": BusConfig("pigeon://x")}, UnknownBackend),
        ({"bus": BusConfig(credential="${env:NOT_SET_ANYWHERE}")}, InvalidInput),
        ({"nodes": (NodeConfig("town", NAMES[:3]),)}, InvalidInput),
        ({"nodes": (NodeConfig("town", (*NAMES, "eve")),)}, InvalidInput),
    ],
)
def test_a_configuration_that_can_not_be_is_refused_at_once(
    tmp_path: Path, fields: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        asyncio.run(open_worker(config(tmp_path, **fields), lambda _: None))


class Counted:
    """An embedder that knows two words."""

    dimension = 2

    def __init__(self, model: str) -> None:
        self.model = model
        self.texts = 0

    async def embed_passages(self, texts: list[str]) -> Any:
        self.texts += len(texts)
        return np.array([[0.6, 0.8] for _ in texts], np.float32)

    async def embed_query(self, text: str) -> Any:
        del text
        return np.array([0.6, 0.8], np.float32)

    async def close(self) -> None: ...


def test_one_embedder_serves_all_and_another_model_embeds_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Counted] = []

    async def begun_with(model: str) -> None:
        async def open_embedder(*_: object) -> Counted:
            opened.append(Counted(model))
            return opened[-1]

        monkeypatch.setattr(worker_parts, "open_embedder", open_embedder)
        async with running(config(tmp_path, store="kuzu")) as worker:
            await until(lambda: worker.status().is_ready)
            if model == "first":
                for name in NAMES:
                    await worker.call(name, "store", content=f"The gate of {name} is blue.")

    for model in ("first", "second", "second"):
        play(begun_with(model))
    assert [one.texts for one in opened] == [4, 4, 0]


# ── sleeping ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_nobody_wants_falls_asleep_and_wakes_when_it_is_asked(tmp_path: Path) -> None:
    async def work() -> None:
        given = with_agent(config(tmp_path, store="kuzu"), "ada", sleep_after_s=0.2)
        async with running(given) as worker:
            await until(lambda: worker.status().is_ready)
            await worker.call("ada", "store", content="The gate is blue.")
            await until(lambda: agent(worker, "ada").phase == "asleep")
            assert agent(worker, "ada").facts == 1
            # What others share does not wake it.
            await worker.call("ben", "store", content="The wall is green.")
            assert agent(worker, "ada").phase == "asleep"
            assert [agent(worker, name).phase for name in NAMES[1:]] == ["ready"] * 3
            assert worker.status().is_ready

            found = await worker.call("ada", "search", query="green wall")
            assert found["hits"][0]["content"] == "The wall is green."
            assert agent(worker, "ada").phase == "ready"

    play(work())


def test_an_agent_that_keeps_nothing_on_disk_never_sleeps(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(with_agent(config(tmp_path), "ada", sleep_after_s=0.01)) as worker:
            await until(lambda: worker.status().is_ready)
            await worker.call("ada", "store", content="The gate is blue.")
            with pytest.raises(InvalidInput, match="would forget everything"):
                await worker.call("ada", "sleep")
            await worker._agents["ada"].sleep_if_idle()
            assert agent(worker, "ada").phase == "ready"
            assert (await worker.call("ada", "stats"))["facts"] == 1

    play(work())


def test_an_agent_can_be_sent_to_sleep(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(config(tmp_path, "single", "kuzu")) as worker:
            await until(lambda: worker.status().is_ready)
            await worker.call("ada", "sleep")
            assert agent(worker, "ada").phase == "asleep"

    play(work())


# ── sources ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sources_are_learned_once_and_a_changed_file_again(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[str] = []
    from hive_mind.runtime import worker_agents

    real = worker_agents.learn_file

    async def noted(who: Any, path: str, sources: Any) -> Any:
        learned.append(path)
        return await real(who, path, sources)

    monkeypatch.setattr(worker_agents, "learn_file", noted)

    async def run_once(facts: int) -> None:
        async with running(with_agent(config(tmp_path, store="kuzu"), "ada", sources=(source(notes),))) as worker:
            await until(lambda: worker.status().is_ready and agent(worker, "ada").learned == {str(notes): source(notes).digest})
            assert agent(worker, "ada").facts == facts

    play(run_once(2))
    play(run_once(2))
    assert learned == [str(notes)]
    notes.write_text(notes.read_text() + "The museum opens at ten.\n")
    play(run_once(3))
    assert learned == [str(notes)] * 2
    assert json.loads((tmp_path / "agents" / "ada" / "sources.json").read_text()) == {str(notes): source(notes).digest}


def test_a_source_that_can_not_be_read_is_told_and_the_others_go_on(tmp_path: Path, notes: Path) -> None:
    missing = tmp_path / "missing.txt"

    async def work() -> None:
        given = with_agent(config(tmp_path), "ada", sources=(source(missing), source(notes)))
        async with running(with_agent(given, "ben", sources=(source(notes),))) as worker:
            await until(lambda: agent(worker, "ada").phase == "failed" and agent(worker, "ben").facts == 2)
            await until(lambda: str(notes) in agent(worker, "ada").learned)
            assert "missing.txt is not a regular file" in agent(worker, "ada").error
            assert not worker.status().is_ready
            assert (await worker.call("ada", "ask", question=QUESTION))["is_known"]

            # It is tried again.
            missing.write_text("The museum opens at ten.\n")
            await until(lambda: worker.status().is_ready)
            assert agent(worker, "ada").facts == 3

    play(work())


def test_what_is_wrong_with_all_its_sources_is_told_once(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / "more.txt"
    more.write_text("The museum opens at ten.\n")

    async def unheard(*_: object) -> None:
        raise BackendUnavailable("model", "it can't be reached")

    monkeypatch.setattr(worker_agents, "learn_file", unheard)

    async def work() -> None:
        async with running(with_agent(config(tmp_path), "ada", sources=(source(more), source(notes)))) as worker:
            await until(lambda: agent(worker, "ada").phase == "failed" and len(worker._agents["ada"]._bad_sources) == 2)
            assert agent(worker, "ada").error == "model: it can't be reached"

    play(work())


def test_files_can_be_learned_on_request_and_bad_ones_are_named(tmp_path: Path, notes: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")

    async def work() -> None:
        async with running(config(tmp_path)) as worker:
            await until(lambda: worker.status().is_ready)
            done = await worker.call("ada", "learn_files", paths=[str(notes), str(empty), str(tmp_path / "no.txt")])

            assert [one["file"] for one in done["learned"]] == [str(notes), str(empty)]
            assert done["added"] == 2
            assert [one["file"] for one in done["skipped"]] == [str(tmp_path / "no.txt")]
            assert set(agent(worker, "ada").learned) == {str(notes), str(empty)}

    play(work())


# ── trouble ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_whose_database_is_damaged_fails_alone(tmp_path: Path) -> None:
    damaged = tmp_path / "agents" / "ada" / "memory.kuzu"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"this is no database, though it is as long as one might be" * 100)

    async def work() -> None:
        async with running(config(tmp_path, store="kuzu")) as worker:
            await until(lambda: worker.status().phase == "ready")
            assert agent(worker, "ada").phase == "failed"
            assert "memory.kuzu" in agent(worker, "ada").error
            with pytest.raises(BackendUnavailable, match=r"memory\.kuzu"):
                await worker.call("ada", "stats")
            assert (await worker.call("ben", "stats"))["facts"] == 0

    play(work())


def test_a_model_that_can_not_be_had_fails_its_agent_alone(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(with_agent(config(tmp_path), "ada", model="nobody:knows-this")) as worker:
            await until(lambda: worker.status().phase == "ready")
            assert agent(worker, "ada").phase == "failed"
            assert agent(worker, "ada").error
            assert [agent(worker, name).phase for name in NAMES[1:]] == ["ready"] * 3

    play(work())


def test_a_bus_that_is_away_at_first_is_told_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_there = False
    real = worker_module.open_buses

    async def moody(*given: Any) -> Any:
        if not is_there:
            raise BackendUnavailable("redis", "nobody answers at 127.0.0.1")
        return await real(*given)

    monkeypatch.setattr(worker_module, "open_buses", moody)

    async def work() -> None:
        nonlocal is_there
        async with running(config(tmp_path)) as worker:
            await until(lambda: "nobody answers" in worker.status().error)
            assert worker.status().phase == "starting"
            assert [node.is_connected for node in worker.status().nodes] == [False]
            with pytest.raises(BackendUnavailable, match="nobody answers"):
                await worker.call("ada", "stats")
            is_there = True
            await until(lambda: worker.status().is_ready)
            assert worker.status().error == ""

    play(work())


def test_a_node_that_has_stopped_fails_the_worker(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(config(tmp_path)) as worker:
            await until(lambda: worker.status().is_ready)
            worker._nodes["town"].running.runner._fail(sqlite3.OperationalError("disk full"))
            await until(lambda: worker.status().phase == "failed")
            assert "disk full" in worker.status().error
            assert not worker.status().is_ready

    play(work())


def test_a_request_is_refused_with_what_is_wrong_with_it(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(config(tmp_path)) as worker:
            await until(lambda: worker.status().is_ready)
            for name, what, fields, why in (
                ("eve", "stats", {}, "no agent 'eve'"),
                ("ada", "dance", {}, "there is no 'dance'"),
                ("ada", "ask", {"limit": "many"}, "no request"),
                ("ada", "ask", {"tone": "kind"}, "no request"),
            ):
                with pytest.raises(InvalidInput, match=why):
                    await worker.call(name, what, **fields)
            worker.drain()
            with pytest.raises(BackendUnavailable, match="about to stop"):
                await worker.call("ada", "stats")
            assert worker.status().phase == "draining"

    play(work())


def test_a_worker_can_be_closed_before_it_is_ready_and_twice(tmp_path: Path) -> None:
    async def work() -> None:
        worker = await open_worker(config(tmp_path, store="kuzu"), lambda _: None)
        await worker.close()
        await worker.close()

    play(work())
