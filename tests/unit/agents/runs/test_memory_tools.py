"""Tools over a memory: what a run states is vouched for by the run, and nobody confirms what he only recalled."""

from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.memory_tools import memory_tools
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runs.prompt import as_text
from hive_mind.tools import Toolbox, ToolContext

GATE = "Sluice gate 2 closes at a water level of 3.2 m."


class Tools:
    """Those of one run, in one process."""

    def __init__(self, memory: CognitiveMemory, run: str = "r1", files: RunFiles | None = None) -> None:
        self._box = Toolbox(memory_tools(memory, ExtractiveReader(), run, files))

    async def use(self, name: str, **arguments: Any) -> Any:
        one = self._box.get(name)
        assert one is not None
        return await one.call(ToolContext(), arguments)


async def test_what_is_remembered_is_recalled_with_its_source(memory: CognitiveMemory) -> None:
    tools = Tools(memory)
    kept = await tools.use("remember", statement=GATE, about="gate")
    (hit,) = await tools.use("recall", query="When does the gate close?")
    assert kept["kept"]
    assert (hit["id"], hit["text"], hit["about"], hit["sources"]) == (kept["fact"]["id"], GATE, "gate", ["run:r1"])


async def test_what_was_recalled_is_not_kept_again_and_so_confirms_nothing(memory: CognitiveMemory) -> None:
    fact = await memory.store_fact("gate", GATE, source="handbook.md")
    tools = Tools(memory)
    await tools.use("recall", query="gate")
    again = await tools.use("remember", statement=f"  {GATE.replace(' ', '  ')} ", about="gate")
    learned = await tools.use("learn", text=f"{GATE}\nThe left chain is worn.")
    known = await memory.get_fact(fact.id)
    assert not again["kept"]
    assert known is not None
    assert known.sources == ("handbook.md",)
    assert [one["text"] for one in learned["facts"]] == ["The left chain is worn."]
    assert learned["left_out"] == {"it was recalled in this run": 1}


async def test_what_an_answer_rests_on_is_recalled_too(memory: CognitiveMemory) -> None:
    await memory.store_fact("gate", GATE, source="handbook.md")
    tools = Tools(memory)
    answer = await tools.use("ask", question="At what water level does sluice gate 2 close?")
    assert answer["is_known"]
    assert [one["text"] for one in answer["facts"]] == [GATE]
    assert not (await tools.use("remember", statement=GATE, about="gate"))["kept"]


@pytest.mark.parametrize("name", ["recall", "ask"])
async def test_what_was_recalled_is_known_after_a_restart(name: str, tmp_path: Path, memory: CognitiveMemory) -> None:
    fact = await memory.store_fact("gate", GATE, source="handbook.md")
    files = RunFiles(tmp_path)
    given = {"query": "gate"} if name == "recall" else {"question": "At what water level does sluice gate 2 close?"}
    files.keep_result(name, 1, as_text(await Tools(memory, files=files).use(name, **given)))
    files.keep_result("search", 2, "no json")

    assert not (await Tools(memory, files=files).use("remember", statement=GATE, about="gate"))["kept"]
    known = await memory.get_fact(fact.id)
    assert known is not None
    assert known.sources == ("handbook.md",)


async def test_another_run_that_never_recalled_it_confirms_it(memory: CognitiveMemory) -> None:
    await memory.store_fact("gate", GATE, source="handbook.md")
    kept = await Tools(memory, "r2").use("remember", statement=GATE, about="gate")
    assert set(kept["fact"]["sources"]) == {"handbook.md", "run:r2"}


async def test_a_text_is_learned_from_where_it_says_it_comes_from(memory: CognitiveMemory) -> None:
    tools = Tools(memory)
    for source, vouched in (("", "run:r1"), ("log.txt", "log.txt")):
        learned = await tools.use("learn", text=f"The {source or 'left'} chain is worn.", source=source)
        assert (learned["added"], learned["facts"][0]["sources"]) == (1, [vouched])


async def test_a_fact_is_corrected_and_taken_back_by_its_id(memory: CognitiveMemory) -> None:
    tools = Tools(memory)
    old = (await tools.use("remember", statement=GATE, about="gate"))["fact"]
    new = await tools.use("correct", fact_id=old["id"], statement="Sluice gate 2 closes at 3.4 m.")
    assert (new["about"], new["sources"]) == ("gate", ["run:r1"])
    assert [one["id"] for one in await tools.use("recall", query="gate")] == [new["id"]]
    await tools.use("retract", fact_id=new["id"])
    assert [one["text"] for one in await tools.use("recall", query="gate")] == [GATE]


@pytest.mark.parametrize("name", ["correct", "retract"])
async def test_what_is_called_again_after_a_crash_changes_nothing_more(name: str, memory: CognitiveMemory) -> None:
    tools = Tools(memory)
    fact = (await tools.use("remember", statement=GATE, about="gate"))["fact"]
    given = {"fact_id": fact["id"]} | ({"statement": "Sluice gate 2 closes at 3.4 m."} if name == "correct" else {})
    once = await tools.use(name, **given)
    assert await Tools(memory).use(name, **given) == once
    assert (await memory.get_statistics()).facts == (1 if name == "correct" else 0)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("correct", {"fact_id": "f9", "statement": "x is y."}, "there is no fact 'f9' of this agent's own; recall gives the ids"),
        ("retract", {"fact_id": "f9"}, "there is no fact 'f9' of this agent's own; recall gives the ids"),
        *(("recall", {"query": "pump", "limit": n}, f"`limit` is a whole number, 1 to 100, not {n}") for n in (-3, 0, 101)),
        ("learn", {"text": " "}, "nothing to learn"),
    ],
)
async def test_what_can_not_be_done_is_told(name: str, given: dict[str, Any], told: str, memory: CognitiveMemory) -> None:
    with pytest.raises(InvalidInput, match=told):
        await Tools(memory).use(name, **given)
