"""What the configuration of a worker says is used: gate, ranking, prompts and embedders; what can't be is refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hive_mind.errors import InvalidInput, UnknownBackend
from hive_mind.memory.gate import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.workers import worker_host as worker_parts
from hive_mind.runtime.workers.config import BusConfig, ModelsConfig, NodeConfig
from hive_mind.runtime.workers.worker import open_worker
from tests.unit.runtime.worker_builders import NAMES, config, play, running, with_agent
from tests.waiting import until


async def test_the_gate_and_the_ranking_of_the_configuration_are_used(tmp_path: Path) -> None:
    strict = config(tmp_path, gate=PromotionSettings(confidence_min=0.9), ranking=RankingSettings(evidence_strength=0.0))
    async with running(strict) as worker:
        await until(lambda: worker.status().is_ready)
        kept = await worker.call("ada", "store", content="The gate is blue.", confidence=0.5)
        hits = (await worker.call("ada", "search", query="gate", method="keyword"))["hits"]

        assert kept["sharing"] == "private"
        assert (await worker.call("ben", "search", query="gate"))["hits"] == []
        assert hits[0]["score"] == 1.0


async def test_an_agent_with_a_language_model_is_told_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = worker_parts.open_model

    async def noted(*given: Any) -> Any:
        opened.append(await real(*given))
        return opened[-1]

    monkeypatch.setattr(worker_parts, "open_model", noted)
    reply = json.dumps({"facts": [{"fact": "The gate is blue.", "confidence": 0.9, "context": "gate", "speaker": ""}]})
    given = with_agent(config(tmp_path), "ada", model=f"scripted:{reply}", prompt="You know everything of harbours.")
    async with running(with_agent(given, "ben", model=f"scripted:{reply}")) as worker:
        await until(lambda: worker.status().is_ready)
        for name in ("ada", "ben"):
            await asyncio.gather(worker.call(name, "learn", text="Blue it is."), return_exceptions=True)
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
def test_a_configuration_that_can_not_be_is_refused_at_once(tmp_path: Path, fields: dict[str, Any], error: type[Exception]):
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
        async with running(config(tmp_path, store="sqlite")) as worker:
            await until(lambda: worker.status().is_ready)
            if model == "first":
                for name in NAMES:
                    await worker.call(name, "store", content=f"The gate of {name} is blue.")

    for model in ("first", "second", "second"):
        play(begun_with(model))
    assert [one.texts for one in opened] == [4, 4, 0]
