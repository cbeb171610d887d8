"""A program's own values and parts: one of another type is refused in a line, and nothing of it is kept."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_mind import Candidate, Content, Extraction, LearningAgent, Query, Question, Settings, open_memory
from hive_mind.errors import InvalidInput

_CONTENT = Content("The pump is red.", "tour")
_CANDIDATE = Candidate("The pump is red.", "pump", 0.9)
_EXTRACTION = Extraction((_CANDIDATE,))
_OTHERS: tuple[Any, ...] = (None, b"red", 3.5, ["red"], ("red", b"red"))
_SETTINGS = Settings(embed="none", store="memory")


class _Reader:
    """Gives what it is made with."""

    def __init__(self, extraction: Any = _EXTRACTION, answer: Any = None) -> None:
        self.extraction, self.answer = extraction, answer

    async def extract(self, _: Content) -> Any:
        return self.extraction

    async def summarise(self, *_: object) -> str:
        return ""

    async def synthesise(self, *_: object) -> Any:
        return self.answer


@pytest.mark.parametrize("name", ["content", "concept", "said_at", "speaker", "before", "entities", "labels", "copied_from"])
async def test_no_field_of_a_statement_is_kept_that_could_not_be_read_again(name: str, tmp_path: Path):
    settings = replace(_SETTINGS, home=tmp_path, store="sqlite")
    async with open_memory(settings, "ann") as memory:
        further = {"entities": ((3,), "red"), "labels": ((3,), "red"), "copied_from": ("zz" * 16,)}
        for other in (*further.get(name, ()), *_OTHERS):
            with pytest.raises(InvalidInput, match=f"`{name}`"):
                await memory.store_facts([replace(_CANDIDATE, **{name: other})], "tour")
    async with open_memory(settings, "ann") as memory:
        assert await memory.get_all_facts() == []


@pytest.mark.parametrize("name", ["text", "source", "said_at", "speaker", "title", "is_whole"])
async def test_no_field_of_content_is_learned_that_is_of_another_type(name: str):
    async with open_memory(_SETTINGS, "ann") as memory:
        for other in _OTHERS:
            content = replace(_CONTENT, **{name: other})
            for keeps in (LearningAgent("ann", memory, _Reader()).learn_from_content, memory.store_episode):
                with pytest.raises(InvalidInput, match=name):
                    await keeps(content)
        assert (await memory.get_statistics()).episodes == 0


_CALLS: dict[str, Callable[[LearningAgent, Any], Awaitable[object]]] = {
    "ask": lambda agent, other: agent.answer_question(other),
    "ask a text": lambda agent, other: agent.answer_question(Question(other)),
    "search": lambda agent, other: agent.memory.search_facts(other),
    "search a text": lambda agent, other: agent.memory.search_facts(Query(other)),
    "learn": lambda agent, other: agent.learn_from_content(other),
    "store": lambda agent, other: agent.memory.store_facts([other], "tour"),
    "store of a source": lambda agent, other: agent.memory.store_facts([_CANDIDATE], other),
    "read": lambda agent, other: LearningAgent("ann", agent.memory, _Reader(other)).learn_from_content(_CONTENT),
    "word": lambda agent, other: LearningAgent("ann", agent.memory, _Reader(answer=other)).answer_question("Which pump?"),
}


@pytest.mark.parametrize("name", _CALLS)
async def test_what_is_none_of_it_is_refused_by_every_call(name: str):
    async with open_memory(_SETTINGS, "ann") as memory:
        for other in _OTHERS:
            with pytest.raises(InvalidInput):
                await _CALLS[name](LearningAgent("ann", memory, _Reader()), other)


@pytest.mark.parametrize("name", [name for name in Settings.__slots__ if name != "home"])
def test_a_setting_of_another_type_is_refused_by_its_name(name: str):
    is_number = isinstance(getattr(Settings(), name), int | float)
    for other in (None, b"x", [], "7" if is_number else 7, *((-1, float("nan"), float("inf"), 1 << 80) if is_number else ())):
        with pytest.raises(InvalidInput, match=f"`{name}`"):
            Settings(**{name: other})


def test_a_home_may_be_given_as_text_and_is_a_path():
    assert Settings(home="there") == Settings(home=Path("there"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`home`"):
        Settings(home=b"there")  # type: ignore[arg-type]
