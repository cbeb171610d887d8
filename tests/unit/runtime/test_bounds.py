"""One table of bounds: each number of each request is taken or refused alike, whichever way it comes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from math import inf, nan
from pathlib import Path
from random import Random
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest
from mcp import Client
from typer.testing import CliRunner

from hive_mind.agents.agent import LearningAgent
from hive_mind.api.request import Entry
from hive_mind.api.requests import REQUESTS
from hive_mind.cli.app import app
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.mcp.server import memory_server
from hive_mind.memory.base import Memory
from hive_mind.model.aggregation import Aggregation
from hive_mind.model.bounds import BOUNDS, LIMIT_MAX, OF_A_LIST, OF_SOME, Bounds
from hive_mind.model.content import Candidate
from hive_mind.model.query import Query
from hive_mind.runtime.workers.openapi import document
from tests.builders import Home
from tests.unit.mcp.test_server import ScriptedAgent
from tests.unit.memory.hives import SharedHome, SmallHive
from tests.unit.runtime.workers.test_health import calling

HUGE = 10**400
LISTS = {"facts", "conflicts", "runs"}
# Of a field that a request needs, and that is not what is looked at.
NEEDED: dict[Any, Any] = {str: "x", tuple[str, ...]: [], dict[str, Any]: {}, bool: True}

Door = Callable[[str, dict[str, Any]], Awaitable[str]]
"""Puts a request, and gives the refusal, or ""."""


def outside(bounds: Bounds) -> Iterator[object]:
    """Values that are not taken, also such as only a program can give."""
    yield from (bounds.least - 1, bounds.most + 1, -1, HUGE, -HUGE, "ten", "1", True, [1], {})
    yield from (1.5, -0.5) if bounds.is_whole else (-0.01, bounds.most + 0.01)


def inside(bounds: Bounds) -> Iterator[object]:
    """The ends; null is what a client's library writes for a field left out."""
    yield from (bounds.least, bounds.most, None)


def bounded() -> Iterator[tuple[Entry, str, Bounds]]:
    for asked in REQUESTS.values():
        for field, bounds in asked.bounds.items():
            yield asked, field, bounds


def needed(asked: Entry) -> dict[str, Any]:
    types = {field.name: field.type for field in msgspec.structs.fields(asked.kind)}
    words = {name: asked.choices[name][0] for name in asked.needs if name in asked.choices}
    return {name: NEEDED[types[name]] for name in asked.needs if name not in words} | words


def types_in(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Annotated, Union, UnionType):
        for part in get_args(annotation)[: 1 if get_origin(annotation) is Annotated else None]:
            yield from types_in(part)
    else:
        yield annotation


def refusal(reply: Any) -> str:
    return str(reply.get("error", ""))


@asynccontextmanager
async def http(folder: Path) -> AsyncIterator[Door]:
    async with calling(folder) as call:

        async def put(name: str, fields: dict[str, Any]) -> str:
            _, reply = await call.post(f"/v1/agents/ada/{name}", fields)
            return refusal(reply)

        yield put


@asynccontextmanager
async def http_by_name(folder: Path) -> AsyncIterator[Door]:
    async with calling(folder) as call:

        async def put(name: str, fields: dict[str, Any]) -> str:
            _, reply = await call.post("/v1/agents/ada", {"do": name, **fields})
            return refusal(reply)

        yield put


@pytest.mark.parametrize("door", [http, http_by_name])
async def test_every_number_of_every_request_has_its_bounds_at_every_door(door: Any, tmp_path: Path) -> None:
    async with door(tmp_path) as put:
        for asked, field, bounds in bounded():
            for value in outside(bounds):
                said = await put(asked.name, needed(asked) | {field: value})
                assert said.startswith(f"`{field}` is a "), (asked.name, field, value, said)
                assert f"{bounds.least} to {bounds.most}, not " in said, said
            for value in inside(bounds):
                said = await put(asked.name, needed(asked) | {field: value})
                assert not said.startswith(f"`{field}`"), (asked.name, field, value, said)


@pytest.mark.parametrize("door", [http, http_by_name])
async def test_a_document_is_no_question_at_any_door(door: Any, tmp_path: Path) -> None:
    document_pasted, why = (
        "The pump is red. " * 60_000,
        "a question has at most 10,000 characters, this one 1,020,000: shorten it",
    )
    async with door(tmp_path) as put:
        assert await put("ask", {"question": document_pasted}) == why
        assert not await put("ask", {"question": document_pasted[:10_000]})
    async with LearningAgent("ada", Home().memory(), ExtractiveReader()) as agent:
        with pytest.raises(InvalidInput, match=why):
            await agent.answer_question(document_pasted)


def test_every_number_of_a_request_is_in_the_table() -> None:
    numbers = {
        (entry.name, field.name)
        for entry in REQUESTS.values()
        for field in msgspec.structs.fields(entry.kind)
        if field.name != "id" and {int, float} & set(types_in(field.type))
    }
    assert numbers == {(entry.name, field) for entry, field, _ in bounded()}
    assert {asked.name for asked, field, bounds in bounded() if bounds == OF_A_LIST and field == "limit"} == LISTS


def test_a_word_that_is_no_choice_is_refused_whatever_it_is() -> None:
    choices = [(entry, field) for entry in REQUESTS.values() for field in entry.choices]
    assert choices
    for entry, field in choices:
        for value in (HUGE**20, -HUGE, "x" * 1_000_000, "\ud800", [["x"] * 100] * 100, {"a": nan}, True, 1.5, ""):
            with pytest.raises(InvalidInput, match=f"^`{field}` is one of ") as refused:
                entry.request(needed(entry) | {field: value})
            assert len(str(refused.value)) < 300


def test_the_description_of_http_says_the_bounds() -> None:
    said = document()["paths"]
    for asked, field, bounds in bounded():
        body = said[f"/v1/agents/{{agent}}/{asked.name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert {"minimum": bounds.least, "maximum": bounds.most}.items() <= body["properties"][field].items(), asked.name


async def test_the_tools_of_a_model_have_the_same_bounds() -> None:
    found, reached = {"hits": [], "completeness": 1.0, "silent": []}, {"count": 0, "completeness": 1.0}
    agent = ScriptedAgent(ask={"answer": "", "is_known": False, "found": found}, conflicts={"conflicts": [], **reached})
    async with Client(memory_server(agent)) as client:
        for tool, bounds in (("recall", BOUNDS["limit"]), ("conflicts", OF_A_LIST)):
            given: dict[str, Any] = {"query": "x"} if tool == "recall" else {}
            for value in outside(bounds):
                said = await client.call_tool(tool, given | {"limit": value})
                assert said.is_error, (tool, value)
                assert "`limit` is a whole number" in said.content[0].text, said.content  # type: ignore[union-attr]
            for value in inside(bounds):
                assert not (await client.call_tool(tool, given | {"limit": value})).is_error, (tool, value)


COMMANDS = {
    ("ask", "x"): BOUNDS["limit"],
    ("facts", "search", "x"): BOUNDS["limit"],
    ("facts", "list", "--latest"): BOUNDS["limit"],
    ("facts", "list"): OF_A_LIST,
    ("get", "facts"): OF_A_LIST,
    ("runs", "list"): OF_A_LIST,
}


@pytest.mark.parametrize(("words", "bounds"), COMMANDS.items())
def test_the_commands_have_the_same_bounds(words: tuple[str, ...], bounds: Bounds, tmp_path: Path) -> None:
    # A command line has no types.
    for value in (bounds.least - 1, bounds.most + 1, "ten"):
        said = CliRunner().invoke(app, [*words, f"--limit={value}"], env={"HIVE_MIND_HOME": str(tmp_path)})
        assert (said.exit_code, "--limit" in said.output) == (2, True), (value, said.output)


async def test_a_memory_has_the_same_bounds() -> None:
    async with Home().memory() as memory, SharedHome(SmallHive(), "ada").memory() as shared:
        for mine in (memory, shared):
            await a_memory_refuses_what_is_outside(mine)


async def test_an_agent_of_the_library_has_the_same_bounds() -> None:
    async with LearningAgent("ada", Home().memory(), ExtractiveReader()) as agent:
        await agent.memory.store_fact("gateway", "The gateway listens on port 8443.")
        for question in ("Which port does the gateway listen on?", "How many facts are there about the gateway?"):
            for value in (*outside(BOUNDS["limit"]), None, nan, inf):
                with pytest.raises(InvalidInput, match=r"`limit` is a whole number, 1 to 1000, not "):
                    await agent.answer_question(question, value)
            with pytest.raises(InvalidInput, match="there is no method 'guess' to search by; there are keyword, vector, hybrid"):
                await agent.answer_question(question, method="guess")  # type: ignore[arg-type]
            for value in (BOUNDS["limit"].least, BOUNDS["limit"].most):
                assert (await agent.answer_question(question, value)).is_known, (question, value)


async def a_memory_refuses_what_is_outside(memory: Memory) -> None:
    for value in (*outside(BOUNDS["limit"]), None, nan, inf):
        for call in (
            lambda value=value: memory.search_facts("x", value),
            lambda value=value: memory.search_facts(Query("x", value)),
            lambda value=value: memory.aggregate(Aggregation("latest", "", value)),
        ):
            with pytest.raises(InvalidInput, match=r"`limit` is a whole number, 1 to 1000, not "):
                await call()
    for value in (*outside(OF_SOME), nan, inf):
        for call in (lambda value=value: memory.get_all_facts(value), lambda value=value: memory.search_by_concept("x", value)):
            with pytest.raises(InvalidInput, match=r"`limit` is a whole number, 1 to "):
                await call()
    for value in (*outside(BOUNDS["confidence"]), None, nan, inf):
        with pytest.raises(InvalidInput, match=r"`confidence` is a number from 0 to 1, not "):
            await memory.store_fact("x", "The pump is red.", value)
        with pytest.raises(InvalidInput, match=r"`min_confidence` is a number from 0 to 1, not "):
            await memory.search_facts(Query("x", min_confidence=value))
    with pytest.raises(InvalidInput, match="confidence"):
        await memory.store_facts([Candidate("The pump is red.", "pump", HUGE)], "s")
    assert await memory.get_all_facts() == []
    assert await memory.search_facts("x", LIMIT_MAX) == []


def test_a_hive_in_process_has_the_same_bounds() -> None:
    hive: Any = InMemoryHiveGraph(clock=lambda: Now(0, 0), chance=Random(0))
    for value in (*outside(BOUNDS["limit"]), None, nan):
        for call in (hive.query_facts, hive.query_federated):
            with pytest.raises(InvalidInput, match="`limit` is a whole number, 1 to 1000, not "):
                call("x", limit=value)
        with pytest.raises(InvalidInput, match="`limit` is a whole number, 1 to 1000, not "):
            hive.aggregate_facts(Aggregation("latest", "", value))
    for value in (*outside(OF_SOME), None, nan):
        with pytest.raises(InvalidInput, match="`limit` is a whole number, 1 to "):
            hive.list_facts(value)
    for value in (*outside(BOUNDS["min_confidence"]), None, nan, inf):
        with pytest.raises(InvalidInput, match="`min_confidence` is a number from 0 to 1, not "):
            hive.query_facts("x", min_confidence=value)
