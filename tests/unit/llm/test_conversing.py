"""Turns of a conversation with a real client: tools and results arrive as they were meant, and every trouble has its name."""

import asyncio
import json
from typing import Any

import pytest

from hive_mind.backends import load
from hive_mind.model import content
from hive_mind.model.content import Message, ToolCall, ToolSpec, Turn
from tests.servers.openai_compatible import Behaviour, Called, OpenAICompatibleServer, Reply

KEY = "sk-secret-0123456789"
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
SEND = ToolSpec("mail/send.now", "Send a mail.", {"type": "object", "properties": {}})
HELLO = Turn("be brief", (Message("user", "hello"),), (LOOK, SEND))
TALK = (
    Message("user", "look twice"),
    Message("assistant", "I look.", (ToolCall("p1.1.0.0", "look", {"q": "a"}), ToolCall("p1.1.0.1", "mail/send.now"))),
    Message("tool", "found", call="p1.1.0.0", name="look"),
    Message("tool", "no mail today", call="p1.1.0.1", name="mail/send.now", is_error=True),
    Message("user", "[Judge feedback]: more"),
)


def conversed(behaviour: Behaviour, turn: Turn = HELLO, timeout_s: float = 10.0) -> tuple[content.Reply, Any]:
    """The reply, and the body of the request."""

    async def one_turn(base_url: str) -> content.Reply:
        model = await load("llm", "providers").open("openai:tiny", base_url=base_url, api_key=KEY, timeout_s=timeout_s)
        try:
            return await model.converse(turn)
        finally:
            await model.close()

    with OpenAICompatibleServer([behaviour]) as server:
        return asyncio.run(one_turn(server.base_url)), server.requests[0].body


def test_words_and_what_they_took_come_back() -> None:
    reply, _ = conversed(Reply("Porto"))
    assert (reply.text, reply.calls) == ("Porto", ())
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0


def test_calls_come_back_with_their_arguments_beside_what_was_said() -> None:
    calls = (Called("look", '{"q": "é", "deep": {"n": [1, null]}}', "c1"), Called("look", '{"q": "b"}', "c2"))
    reply, _ = conversed(Reply("I look.", calls))
    assert reply.text == "I look."
    assert reply.calls == (ToolCall("c1", "look", {"q": "é", "deep": {"n": [1, None]}}), ToolCall("c2", "look", {"q": "b"}))


def test_a_tool_is_offered_under_a_name_that_providers_take_and_called_by_its_own() -> None:
    reply, body = conversed(Reply("", (Called("mail__s__send__d__now"),)))
    offered = [one["function"] for one in body["tools"]]
    assert [one["name"] for one in offered] == ["look", "mail__s__send__d__now"]
    assert (offered[0]["description"], offered[0]["parameters"]["required"]) == ("Look something up.", ["q"])
    assert reply.calls[0].name == "mail/send.now"


@pytest.mark.parametrize("name", ["a__s__b", "ein Werkzeug", "x" * 80])
def test_whatever_a_tool_is_called_it_is_called_by_its_own_name(name: str) -> None:
    turn = Turn("", (Message("user", "hello"),), (ToolSpec(name, "Do it.", LOOK.parameters),))
    _, body = conversed(Reply(), turn)
    sent = body["tools"][0]["function"]["name"]
    assert len(sent) <= 64
    assert sent.replace("_", "").replace("-", "").isascii()
    assert " " not in sent
    assert conversed(Reply("", (Called(sent),)), turn)[0].calls[0].name == name


def test_a_name_that_a_model_made_up_comes_as_it_is_and_can_be_sent_again() -> None:
    reply, _ = conversed(Reply("", (Called("fly away"),)))
    assert reply.calls[0].name == "fly away"
    said = (Message("user", "x"), Message("assistant", "", reply.calls), Message("tool", "no", call="call_1", name="fly away"))
    _, body = conversed(Reply(), Turn("", said, (LOOK,)))
    assert body["messages"][-2]["tool_calls"][0]["function"]["name"] == "fly_away"


@pytest.mark.parametrize("arguments", ["{no json", "[1, 2]", '"text"', "7"])
def test_arguments_that_are_no_object_come_under_a_name_that_every_tool_refuses(arguments: str) -> None:
    from hive_mind.llm.providers import UNREADABLE

    reply, _ = conversed(Reply("", (Called("look", arguments),)))
    assert list(reply.calls[0].arguments) == [UNREADABLE]


@pytest.mark.parametrize("arguments", ["{}", ""])
def test_no_arguments_are_none(arguments: str) -> None:
    assert conversed(Reply("", (Called("look", arguments),)))[0].calls[0].arguments == {}


def test_a_conversation_arrives_in_its_order_with_each_result_at_its_call() -> None:
    _, body = conversed(Reply(), Turn("be brief", TALK, (LOOK, SEND), max_output_tokens=77))
    told = body["messages"]
    assert [one["role"] for one in told] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert told[0]["content"] == "be brief"
    assert [one["id"] for one in told[2]["tool_calls"]] == ["p1.1.0.0", "p1.1.0.1"]
    assert json.loads(told[2]["tool_calls"][0]["function"]["arguments"]) == {"q": "a"}
    assert [(one["tool_call_id"], one["content"]) for one in told[3:5]] == [
        ("p1.1.0.0", "found"),
        ("p1.1.0.1", '{"error":"no mail today"}'),
    ]
    assert told[5]["content"] == "[Judge feedback]: more"
    assert 77 in (body.get("max_completion_tokens"), body.get("max_tokens"))


def test_where_a_tool_has_to_be_called_the_provider_is_told_so() -> None:
    _, body = conversed(
        Reply("", (Called("look", '{"q": "x"}'),)), Turn("", (Message("user", "choose"),), (LOOK,), must_call=True)
    )
    assert body["tool_choice"] == "required"
    _, body = conversed(Reply())
    assert body.get("tool_choice", "auto") == "auto"


def test_without_tools_none_are_offered() -> None:
    _, body = conversed(Reply(), Turn("", (Message("user", "hello"),)))
    assert "tools" not in body


@pytest.mark.parametrize("text", ["", "\x00", "half \ud800", "é" * 10_000])
def test_any_text_can_be_sent_wherever_it_stands(text: str) -> None:
    said = (
        Message("user", text),
        Message("assistant", text, (ToolCall("c", "look", {"q": text}),)),
        Message("tool", text, call="c", name="look"),
        Message("assistant", text),
        Message("user", text),
    )
    assert conversed(Reply(), Turn(text, said, (LOOK,)))[0].text == "ok"
