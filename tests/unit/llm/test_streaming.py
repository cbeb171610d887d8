"""A model's words as they come: told piece by piece, the same in the end, and whatever breaks off has its name."""

import asyncio
import json
from typing import Any

import pytest

from hive_mind.backends import load
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model import dialogue
from hive_mind.model.dialogue import Message, ToolCall, ToolSpec, Turn
from tests.servers.openai_compatible import Behaviour, Cut, OpenAICompatibleServer, RawBody, Refusal, Silence

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
TURN = Turn("be brief", (Message("user", "hello"),), (LOOK,))
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def chunk(delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if usage is None else []
    told = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": choices, "usage": usage}
    return f"data: {json.dumps(told)}\n\n"


def stream(*pieces: str, calls: bool = False, usage: bool = True, is_whole: bool = True) -> RawBody:
    told = [chunk({"role": "assistant", "content": piece}) for piece in pieces]
    if calls:
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": '}}
        told.append(chunk({"tool_calls": [call]}))
        told.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"é"}'}}]}))
    if is_whole:
        told.append(chunk({}, "tool_calls" if calls else "stop"))
        told += [chunk({}, usage=USAGE)] if usage else []
        told.append("data: [DONE]\n\n")
    return RawBody("".join(told).encode(), "text/event-stream")


def heard(behaviour: Behaviour, timeout_s: float = 10.0) -> tuple[dialogue.Reply, list[str]]:
    pieces: list[str] = []

    async def one_turn(base_url: str) -> dialogue.Reply:
        model = await load("llm", "providers").open("openai:tiny", base_url=base_url, api_key="k", timeout_s=timeout_s)
        try:
            return await model.converse(TURN, pieces.append)
        finally:
            await model.close()

    with OpenAICompatibleServer([behaviour]) as server:
        return asyncio.run(one_turn(server.base_url)), pieces


def test_words_are_told_as_they_come_and_are_the_reply() -> None:
    reply, pieces = heard(stream("The pump", " is ", "réd."))
    assert pieces == ["The pump", " is ", "réd."]
    assert reply.text == "The pump is réd."
    assert (reply.input_tokens, reply.output_tokens) == (7, 5)


def test_calls_come_whole_beside_the_words() -> None:
    reply, pieces = heard(stream("I look.", calls=True))
    assert "".join(pieces) == "I look."
    assert reply.calls == (ToolCall("c1", "look", {"q": "é"}),)


def test_a_provider_that_does_not_count_a_stream_is_no_error() -> None:
    reply, _ = heard(stream("ok", usage=False))
    assert (reply.input_tokens, reply.output_tokens) == (0, 0)


@pytest.mark.parametrize("behaviour", [stream("The pump", is_whole=False), RawBody(b"", "text/event-stream"), Cut(), Cut(30)])
def test_a_stream_that_breaks_off_is_trouble_that_may_pass(behaviour: Behaviour) -> None:
    with pytest.raises(BackendUnavailable):
        heard(behaviour)


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [(Refusal(429), BackendThrottled), (Refusal(500), BackendUnavailable), (Refusal(401), BackendRejected)],
)
def test_what_is_refused_before_the_first_word_has_its_name(behaviour: Behaviour, kind: type[BackendError]) -> None:
    with pytest.raises(kind):
        heard(behaviour)


def test_garbage_in_a_stream_is_an_error_of_ours() -> None:
    with pytest.raises(BackendError):
        heard(RawBody(b"data: {nonsense\n\n", "text/event-stream"))


def test_a_server_that_says_nothing_times_out() -> None:
    with pytest.raises(BackendTimeout):
        heard(Silence(), timeout_s=0.2)


def test_a_scripted_model_tells_its_words_too() -> None:
    pieces: list[str] = []
    model = ScriptedModel(conversation=[dialogue.Reply("one two  three")])
    asyncio.run(model.converse(TURN, pieces.append))
    assert pieces == ["one ", "two  ", "three"]
