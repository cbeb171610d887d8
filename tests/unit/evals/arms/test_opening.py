"""Cells that can't be are refused with what to do; a memory that is kept learns nothing twice."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import Means
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Retrieval
from hive_mind.evals.running.cell import open_arm
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.unit.evals.arms.notes import NoVectors, drawn, told


@pytest.mark.parametrize(
    ("arm", "fault", "what"),
    [
        (Arm("flat", 3), Fault(loss=0.1), "in the simulator only"),
        (Arm("flat", 3), Fault(slow=1, slow_ms=50), "in the simulator only"),
        (Arm("single"), Fault(down=1), "no nodes that could be down"),
        (Arm("bm25"), Fault(down=1), "no nodes that could be down"),
        (Arm("flat", 3), Fault(down=1), "with 1 of 1 nodes down no node is left to ask"),
        (Arm("federated", 6, groups=2), Fault(down=2), "with 2 of 2 nodes down no node is left"),
        (Arm("federated", 3, groups=4), Fault(), "leave some empty"),
        (Arm("flat", 0), Fault(), "an arm needs at least one agent, not 0"),
        (Arm("flat", 3, deal="by moon"), Fault(), "unknown deal 'by moon'"),
    ],
    ids=str,
)
def test_what_can_not_be_is_refused(arm: Arm, fault: Fault, what: str):
    with pytest.raises(InvalidInput, match=what):
        told(arm, drawn(), fault=fault)


@pytest.mark.parametrize("arm", [Arm("single"), Arm("sharded", 3)], ids=str)
def test_meaning_is_not_measured_where_there_is_none(arm: Arm):
    with pytest.raises(InvalidInput, match="needs an embedding model"):
        told(arm, drawn(), "semantic", embedder=NoVectors())


def test_an_arm_of_another_place_is_opened_there_and_finds_the_same():
    scope = drawn(20, 3)
    here, there = (told(Arm("sharded", 4, place=place), scope) for place in ("in-process", "simulator"))  # type: ignore[arg-type]

    assert there.facts == here.facts


def test_nothing_of_an_arm_is_on_disk(tmp_path: Path):
    settings = Settings(home=tmp_path, embed="none", ann="exact")

    async def learn(arm: Arm) -> None:
        opened = await open_arm(Cell("cell", DataSource("notes"), arm, Retrieval(), 1), drawn(), Means(settings, BagOfWords()))
        await opened.close()

    for arm in (Arm("single"), Arm("sharded", 3), Arm("routed", 3, fan_out=1)):
        asyncio.run(learn(arm))

    assert list(tmp_path.iterdir()) == []
