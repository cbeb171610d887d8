"""A conversation with tools over HTTP: what is sent, what comes back, and that a server in trouble is named as such."""

import asyncio
import json
from typing import Any

import pytest

from hive_mind.errors import BackendError, BackendThrottled, BackendUnavailable
from hive_mind.llm import providers
from hive_mind.llm._conversing import UNREADABLE
from hive_mind.model.dialogue import Message, Reply, ToolCall, ToolSpec, Turn
from tests.servers.openai_compatible import Cut, OpenAICompatibleServer, RawBody, Refusal

SEARCH = ToolSpec("mcp:t/search", "Look something up.", {"type": "object", "properties": {"q": {"type": "string"}}})
TURN = Turn(
    "You are ada.",
    (
        Message("user", "Find it."),
        Message(
            "assistant", "I look.", (ToolCall("1", "mcp:t/search", {"q": "gate"}), ToolCall("2", "mcp:t/search", {"q": "sluice"}))
        ),
        Message("tool", "gate 2", call="1", name="mcp:t/search"),
        Message("tool", "no such sluice", call="2", name="mcp:t/search", is_error=True),
        Message("user", "[Judge feedback]: half a \ud800 character"),
    ),
    (SEARCH,),
    77,
)


def body(arguments: str, content: str | None = None) -> RawBody:
    call = {"id": "c9", "type": "function", "function": {"name": "mcp__c__t__s__search", "arguments": arguments}}
    message = {"role": "assistant", "content": content, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return RawBody(json.dumps(whole).encode())


def said(server: OpenAICompatibleServer, turn: Turn = TURN) -> Reply:
    async def work() -> Reply:
        model = await providers.open("openai:m", base_url=server.base_url, api_key="k", timeout_s=5)
        try:
            return await model.converse(turn)
        finally:
            await model.close()

    return asyncio.run(work())


def test_calls_come_back_with_their_arguments_and_what_they_cost() -> None:
    with OpenAICompatibleServer([body('{"q": "gate"}', "Let me see.")]) as server:
        reply = said(server)
    assert reply == Reply("Let me see.", (ToolCall("c9", "mcp:t/search", {"q": "gate"}),), 11, 3)


def test_the_whole_conversation_is_sent_in_its_order_with_the_tools() -> None:
    with OpenAICompatibleServer([body("{}")]) as server:
        said(server)
        (received,) = server.requests
    sent: dict[str, Any] = received.body
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [call["id"] for call in sent["messages"][2]["tool_calls"]] == ["1", "2"]
    assert [one["tool_call_id"] for one in sent["messages"] if one["role"] == "tool"] == ["1", "2"]
    assert "no such sluice" in sent["messages"][4]["content"]
    assert sent["messages"][5]["content"].endswith("half a ? character")
    assert [one["function"]["name"] for one in sent["tools"]] == ["mcp__c__t__s__search"]
    assert 77 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))


@pytest.mark.parametrize("arguments", ["{", "[1]", "no json"])
def test_arguments_that_are_no_object_come_as_they_are_so_that_their_tool_refuses_them(arguments: str) -> None:
    with OpenAICompatibleServer([body(arguments)]) as server:
        (call,) = said(server).calls
    assert list(call.arguments) == [UNREADABLE]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Refusal(429, retry_after_s="3"), BackendThrottled),
        (Refusal(500), BackendUnavailable),
        (RawBody(b"no JSON"), BackendError),
        (Cut(), BackendUnavailable),
        (Cut(sent=10), BackendError),
    ],
)
def test_a_server_in_trouble_is_named_as_such(behaviour: Any, error: type[Exception]) -> None:
    with OpenAICompatibleServer([behaviour]) as server, pytest.raises(error):
        said(server)
