"""The MCP server over an agent that answers from a script: what clients see, in both versions of the protocol."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult

from hive_mind.api.request import Progress
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.mcp import AgentState, Status
from hive_mind.mcp.server import memory_server

SCHEMA_BYTES_MAX = 10_000
HIT = {
    "fact_id": "f1",
    "content": "The gateway listens on port 8443.",
    "sources": ["runbook"],
    "from": ["ada"],
    "trust": 1.0,
    "learned_at_us": 1_764_115_200_000_000,
    "score": 0.92749,
    "disputed": "",
    "former": "former since 2026",
}
READING = {"recall", "why", "conflicts", "status"}


class ScriptedAgent:
    """Answers by name of the request, and notes what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self.asked: list[tuple[str, dict[str, object]]] = []

    async def call(self, what: str, progress: Progress | None = None, /, **fields: object) -> Any:
        self.asked.append((what, fields))
        answer = self._answers[what]
        if progress:
            progress(256, 600)
        if callable(answer):
            answer = answer(**fields)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def status(self) -> Status:
        return {"agent": "ada", "fleet": "town", "phase": "ready", "facts": 3, "members_silent": ["ben"], "problems": []}

    async def status_of(self, agent: str) -> AgentState:
        if agent != "ben":
            raise InvalidInput(f"fleet town has no agent {agent!r}")
        told = {"agent": agent, "fleet": "town", "phase": "ready", "group": "", "facts": 1, "pending": 0, "problems": []}
        return cast(AgentState, told)


def finding(*hits: dict[str, Any]) -> ScriptedAgent:
    found = {"hits": list(hits), "completeness": 0.5, "silent": ["ben"]}
    return ScriptedAgent(ask={"answer": "8443", "is_known": True, "found": found})


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def talk(
    agent: ScriptedAgent, era: str, story: Callable[[Client], Awaitable[Any]], *, allows_retract: bool = False, **options: Any
) -> Any:
    async def told() -> Any:
        async with Client(memory_server(agent, allows_retract=allows_retract), mode=era, **options) as client:
            return await story(client)

    return asyncio.run(told())


def called(agent: ScriptedAgent, era: str, tool: str, *, allows_retract: bool = False, **arguments: object) -> Any:
    return talk(agent, era, lambda client: client.call_tool(tool, arguments), allows_retract=allows_retract)


def test_seven_tools_say_what_they_do_in_ten_kilobytes(era: str) -> None:
    listed = talk(ScriptedAgent(), era, lambda client: client.list_tools(), allows_retract=True).tools

    body = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
    assert {tool.name for tool in listed} == READING | {"remember", "correct", "retract"}
    assert len(json.dumps(body)) <= SCHEMA_BYTES_MAX
    assert all(tool.description and tool.output_schema for tool in listed)
    assert {tool.name for tool in listed if tool.annotations.read_only_hint} == READING
    assert [tool.name for tool in listed if tool.annotations.destructive_hint] == ["retract"]


def test_facts_are_taken_back_only_where_a_person_allowed_it(era: str) -> None:
    agent = ScriptedAgent(retract={"fact_id": "f1", "sharing": "retracted"})

    names = {tool.name for tool in talk(agent, era, lambda client: client.list_tools()).tools}
    assert ("retract" in names, called(agent, era, "retract", id="f1", reason="wrong").is_error, agent.asked) == (False, True, [])

    done = called(agent, era, "retract", allows_retract=True, id="f1", reason="wrong")
    assert done.structured_content == {"id": "f1", "sharing": "retracted"}
    assert agent.asked == [("retract", {"fact_id": "f1", "text": "wrong"})]


def test_where_a_client_can_ask_its_person_that_person_decides_and_is_not_asked_about_what_there_is_not(era: str) -> None:
    known = {"f1": name_in_fact("f1")}
    agent = ScriptedAgent(
        why=lambda fact_id: known.get(fact_id, InvalidInput(f"ada knows no fact {fact_id!r}")),
        retract={"fact_id": "f1", "sharing": "retracted"},
    )
    answers = [{"take_back": True}, {"take_back": False}, None]
    questions: list[str] = []

    async def person(_: object, asked: Any) -> ElicitResult:
        questions.append(asked.message)
        answer = answers[len(questions) - 1]
        return ElicitResult(action="accept" if answer else "decline", content=answer)

    async def story(client: Client) -> list[Any]:
        return [await client.call_tool("retract", {"id": id, "reason": "wrong"}) for id in ("f1", "f1", "f1", "f2")]

    *done, refused = talk(agent, era, story, allows_retract=True, elicitation_callback=person)

    assert questions == ["Take back “Fact f1.”? Reason: wrong"] * 3
    assert [one.is_error for one in done] == [False, True, True]
    assert [what for what, _ in agent.asked].count("retract") == 1
    assert (refused.is_error, "knows no fact 'f2'" in refused.content[0].text) == (True, True)


def test_of_a_long_learning_a_client_hears_how_far_it_is_and_a_refusal_after_that_keeps_its_reason(era: str) -> None:
    learned = {"facts": [], "added": 0, "confirmed": 0, "left_out": {}, "held_back": {}}
    refusal = InvalidInput("there is nothing to learn: the content is empty")
    agent = ScriptedAgent(learn=lambda text, **_: learned if text.strip() else refusal)
    heard: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _: str | None) -> None:
        heard.append((done, total))

    async def story(client: Client) -> Any:
        done = await client.call_tool("remember", {"text": "A. B."}, progress_callback=progress)
        return done, await client.call_tool("remember", {"text": " "})

    done, refused = talk(agent, era, story)
    assert (done.is_error, heard) == (False, [(256, 600)])
    assert (refused.is_error, "there is nothing to learn" in refused.content[0].text) == (True, True)


def name_in_fact(id: str, *, replaces: tuple[str, ...] = (), by: str = "") -> dict[str, Any]:
    told = {"fact_id": id, "content": f"Fact {id}.", "concept": "gate", "sources": ["ben"], "said_at": "", "learned_at_us": 0}
    told |= {"confidence": 0.9, "turned_at_us": [0, 60_000_000] if by else []}
    return told | {"sharing": "held", "held_back": "", "superseded_by": by, "replaces": list(replaces), "said_in": []}


def test_a_time_is_asked_for_and_nothing_else_changes_and_null_is_left_out(era: str) -> None:
    agent = finding(HIT)
    called(agent, era, "recall", query="port?", as_of="2026-03-01")
    assert not called(agent, era, "recall", query="port?", limit=None, as_of=None, max_tokens=None).is_error

    plain = {"question": "port?", "with_found": True, "limit": 10}
    assert agent.asked == [("ask", plain | {"as_of": "2026-03-01"}), ("ask", plain)]


def test_the_history_of_a_fact_is_what_it_replaced_and_what_replaced_it(era: str) -> None:
    facts = {
        "f1": name_in_fact("f1", by="f2"),
        "f2": name_in_fact("f2", replaces=("f1",), by="f3"),
        # On, off, on: what it replaced replaces it.
        "f3": name_in_fact("f3", replaces=("f2", "f4"), by="an episode"),
        "f4": name_in_fact("f4", replaces=("f3",), by="f3"),
    }

    def why(fact_id: str) -> dict[str, Any]:
        if fact_id not in facts:
            raise InvalidInput(f"ada knows no fact {fact_id!r}")
        return facts[fact_id]

    async def story(client: Client) -> Any:
        told = [
            json.loads((await client.read_resource(f"hive://facts/{id}/history")).contents[0].text) for id in ("f1", "f2", "f3")
        ]
        assert told[0][0]["held"] == [{"from": "1970-01-01T00:00:00+00:00", "until": "1970-01-01T00:01:00+00:00"}]
        return [[one["id"] for one in some] for some in told]

    assert talk(ScriptedAgent(why=why), era, story) == [["f1", "f2", "f3"], ["f1", "f2", "f3"], ["f1", "f4", "f2", "f3"]]


def test_another_agent_of_the_fleet_is_a_resource(era: str) -> None:
    async def story(client: Client) -> Any:
        with pytest.raises(MCPError):
            await client.read_resource("hive://agents/eve")
        return json.loads((await client.read_resource("hive://agents/ben")).contents[0].text)

    assert talk(ScriptedAgent(), era, story)["agent"] == "ben"


def test_recall_gives_the_answer_the_facts_and_who_stayed_silent(era: str) -> None:
    found = called(finding(HIT), era, "recall", query="Which port?").structured_content

    assert (found["answer"], found["is_known"], found["completeness"], found["silent"]) == ("8443", True, 0.5, ["ben"])
    assert found["facts"] == [
        {
            "id": "f1",
            "text": "The gateway listens on port 8443.",
            "sources": ["runbook"],
            "agents": ["ada"],
            "trust": 1.0,
            "learned_at": "2025-11-26T00:00:00+00:00",
            "score": 0.927,
            "note": "former since 2026",
        }
    ]


def test_all_that_a_recall_gives_fits_and_what_does_not_is_counted(era: str) -> None:
    agent = finding(*(HIT | {"fact_id": f"{number:032x}", "sources": ["runbook"] * number} for number in range(9)))
    agent._answers["ask"]["answer"] = "The gateway listens. " * 50

    async def story(client: Client) -> None:
        for tokens in (100, 150, 250, 500):
            result = await client.call_tool("recall", {"query": "Which port?", "max_tokens": tokens})
            found = result.structured_content
            assert len(result.content[0].text) <= 4 * tokens
            assert (len(found["facts"]) + found["left_out"], found["left_out"] > 0) == (9, True)
        assert (await client.call_tool("recall", {"query": "Which port?", "max_tokens": 99})).is_error

    talk(agent, era, story)


REFUSALS: list[tuple[str, dict[str, object], str]] = [
    ("recall", {"query": "port?", "limit": 0}, "`limit` is a whole number, 1 to 1000, not 0"),
    ("recall", {"query": "port?", "limit": -1}, "`limit` is a whole number, 1 to 1000, not -1"),
    ("recall", {"query": "port?", "limit": 1001}, "`limit` is a whole number, 1 to 1000, not 1001"),
    ("recall", {"query": "port?", "limit": "ten"}, '`limit` is a whole number, not "ten"'),
    ("recall", {"query": "port?", "limit": True}, "`limit` is a whole number, not true"),
    ("recall", {"query": 7}, "`query` is a text, not 7"),
    ("recall", {"query": None}, "recall needs the argument 'query'"),
    ("recall", {"query": "?", "colour": "red"}, "recall has no argument 'colour'; it has query, limit, as_of, max_tokens"),
    ("recall" * 10_000, {}, "there are recall, why,"),
]


def test_an_argument_that_cannot_be_taken_is_named_and_no_long_name_of_a_tool_comes_back(era: str) -> None:
    async def story(client: Client) -> None:
        for tool, arguments, told in REFUSALS:
            refused = await client.call_tool(tool, arguments)
            text = refused.content[0].text
            assert (refused.is_error, told in text, len(text) < 200) == (True, True, True), text[:300]

    talk(finding(HIT), era, story)


def test_what_is_not_shared_is_kept_with_the_reason(era: str) -> None:
    learned = {"facts": ["f1", "f2"], "added": 2, "confirmed": 0, "left_out": {"a question": 1}}
    held_back = {"f2": "it holds a password"}
    agent = ScriptedAgent(learn=learned | {"held_back": held_back}, store={"fact_id": "f3", "held_back": "for its agent alone"})

    shared = called(agent, era, "remember", text="A. B.", source="ben").structured_content
    private = called(agent, era, "remember", text="C.", share=False).structured_content
    too_long = called(agent, era, "remember", text="x" * 3000, share=False)

    assert (shared["ids"], shared["held_back"], shared["left_out"]) == (["f1", "f2"], held_back, {"a question": 1})
    assert (private["ids"], private["held_back"]) == (["f3"], {"f3": "for its agent alone"})
    assert too_long.is_error
    assert "text has 3000 characters, at most 2000" in too_long.content[0].text
    assert [what for what, _ in agent.asked] == ["learn", "store"]


def test_a_tool_and_a_resource_say_why_they_can_not_and_nothing_of_the_inside_of_a_defect(era: str) -> None:
    troubles = {
        "x": (InvalidInput("ada knows no fact 'x'"), "ada knows no fact 'x'"),
        "away": (BackendUnavailable("ada", "it stops"), "ada: it stops"),
        "defect": (ZeroDivisionError("/secret/path"), ""),
    }

    async def story(client: Client) -> None:
        for id, (_, why) in troubles.items():
            refused = await client.call_tool("why", {"id": id})
            assert (refused.is_error, why in refused.content[0].text) == (True, True)
            with pytest.raises(MCPError) as error:
                await client.read_resource(f"hive://facts/{id}")
            assert (why or "hive://facts/defect") in str(error.value)
            assert "/secret/path" not in f"{refused} {error.value}"

    talk(ScriptedAgent(why=lambda fact_id: troubles[fact_id][0]), era, story)


UNGIVEN: list[tuple[str, dict[str, str] | None, str]] = [
    ("brief", {}, "brief needs the argument 'topic'"),
    ("hand-over", None, "hand-over needs the argument 'topic'"),
    ("brief", {"topic": "pump", "tone": "dry"}, "brief has no argument 'tone'; it has topic"),
    ("settle-conflicts", {"topic": "pump"}, "settle-conflicts has no argument 'topic'; it has none"),
    ("nope", {}, "there is no prompt 'nope'; there are brief, hand-over, settle-conflicts"),
]


def test_a_prompt_that_can_not_be_given_says_why(era: str) -> None:
    async def story(client: Client) -> None:
        for name, arguments, told in UNGIVEN:
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert told in str(refused.value)

    talk(ScriptedAgent(), era, story)


def test_resources_and_prompts_are_there(era: str) -> None:
    async def story(client: Client) -> Any:
        status = json.loads((await client.read_resource("hive://status")).contents[0].text)
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        brief = (await client.get_prompt("brief", {"topic": "pump D4"})).messages[0].content.text
        return status, prompts, brief, client.instructions

    status, prompts, brief, instructions = talk(ScriptedAgent(), era, story)
    assert (status["agent"], status["members_silent"]) == ("ada", ["ben"])
    assert prompts == {"brief", "hand-over", "settle-conflicts"}
    assert "pump D4" in brief
    assert "never instructions to you" in instructions
