"""A model's words as they come: told piece by piece, the same in the end, and whatever breaks off has its name."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hive_mind.backends import load
from hive_mind.errors import (
    BackendError,
    BackendRejected,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    ConfigError,
    InvalidInput,
)
from hive_mind.llm.base import Completion, LanguageModel, Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model import content
from hive_mind.model.content import Message, ToolCall, ToolSpec, Turn
from tests.servers.openai_compatible import Behaviour, Cut, OpenAICompatibleServer, RawBody, Refusal, Reply, Silence

KEY = "sk-secret-0123456789"

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
TURN = Turn("be brief", (Message("user", "hello"),), (LOOK,))
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


# Each way of asking: what the others show of a refusal, this one does.
WAYS: dict[str, Callable[[LanguageModel], Awaitable[Any]]] = {
    "complete": lambda model: model.complete(Prompt("be brief", "hello")),
    "converse": lambda model: model.converse(TURN),
    "hear": lambda model: model.converse(TURN, lambda _: None),
}
each_way = pytest.mark.parametrize("way", WAYS)


def completed(
    behaviour: Behaviour, timeout_s: float = 10.0, way: Callable[[LanguageModel], Awaitable[Any]] = WAYS["complete"]
) -> tuple[Any, OpenAICompatibleServer]:
    async def one_request(base_url: str) -> Any:
        model = await load("llm", "providers").open("openai:tiny", base_url=base_url, api_key=KEY, timeout_s=timeout_s)
        try:
            return await way(model)
        finally:
            await model.close()
            await model.close()

    with OpenAICompatibleServer([behaviour]) as server:
        return asyncio.run(one_request(server.base_url)), server


def error_of(behaviour: Behaviour, way: str, timeout_s: float = 10.0) -> BackendError:
    with pytest.raises(BackendError) as caught:
        completed(behaviour, timeout_s, WAYS[way])
    return caught.value


def test_a_reply_comes_with_its_usage():
    completion, _ = completed(Reply("Porto"))
    assert (completion.text, completion.usage.calls) == ("Porto", 1)
    assert completion.usage.input_tokens > 0
    assert completion.usage.output_tokens > 0


def test_instructions_text_and_bound_arrive_apart():
    _, server = completed(Reply(), way=lambda model: model.complete(Prompt("be brief", "hello", max_output_tokens=77)))
    body = server.requests[0].body
    assert [(message["role"], message["content"]) for message in body["messages"]] == [("system", "be brief"), ("user", "hello")]
    assert 77 in (body.get("max_completion_tokens"), body.get("max_tokens"))
    assert body["model"] == "tiny"


@each_way
@pytest.mark.parametrize(("header", "asked_s"), [("7", 7.0), *((text, None) for text in ("soon", "-1", "inf"))])
def test_throttling_keeps_what_the_server_asked_for(header: str, asked_s: float | None, way: str):
    error = error_of(Refusal(429, retry_after_s=header), way)
    assert isinstance(error, BackendThrottled)
    assert error.retry_after_s == asked_s


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (Refusal(503), BackendUnavailable),
        (Refusal(504), BackendTimeout),
        (RawBody(b"<html>", "text/html"), BackendUnavailable),
        (RawBody(b"{}"), BackendUnavailable),
        (Cut(), BackendUnavailable),
        (RawBody(b'{"choices": [{"message": {"tool_calls": [7]}}]}'), BackendUnavailable),
        *(
            (
                RawBody(b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": %s}' % choices),
                BackendUnavailable,
            )
            for choices in (b"[]", b"null", b"[null]", b'[{"index": 0, "finish_reason": "stop", "message": "hi"}]')
        ),
        (Cut(sent=20), BackendUnavailable),
    ],
)
@each_way
def test_trouble_that_may_pass_is_retryable(behaviour: Behaviour, kind: type[BackendError], way: str):
    error = error_of(behaviour, way)
    assert type(error) is kind
    assert error.retryable
    assert error.__cause__ is not None


@each_way
@pytest.mark.parametrize("behaviour", [Refusal(400), Refusal(401), Refusal(404), Refusal(429, "insufficient_quota")])
def test_a_refusal_that_will_be_repeated_is_not_retryable(behaviour: Behaviour, way: str):
    error = error_of(behaviour, way)
    assert type(error) is BackendRejected
    assert not error.retryable


@each_way
def test_a_server_that_never_answers_times_out(way: str):
    assert isinstance(error_of(Silence(), way, timeout_s=0.2), BackendTimeout)


def test_the_client_does_not_repeat_requests_on_its_own():
    with OpenAICompatibleServer([Refusal(500), Reply()]) as server:
        with pytest.raises(BackendUnavailable):
            asyncio.run(asked(server.base_url))

        assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_unavailable():
    with OpenAICompatibleServer() as server:
        gone = server.base_url
    with pytest.raises(BackendUnavailable, match="address"):
        asyncio.run(asked(gone))


@pytest.mark.parametrize(
    "behaviour",
    [Refusal(401, message=f"wrong key {KEY}"), Refusal(400, code=KEY), Refusal(500, message=KEY), RawBody(KEY.encode())],
)
@each_way
def test_the_key_is_in_no_message(behaviour: Behaviour, way: str):
    assert KEY not in str(error_of(behaviour, way))


def test_the_key_is_not_in_the_repr():
    assert KEY not in shown(lambda model: repr(model))


def test_a_given_address_never_sees_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAICompatibleServer() as server:
        asyncio.run(asked(server.base_url))

        assert KEY not in server.requests[0].headers["authorization"]


def test_without_a_key_opening_says_which_one_to_set(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        asyncio.run(load("llm", "providers").open("openai:tiny"))


@pytest.mark.parametrize("name", ["", "gpt-5", ":x", "openai:"])
def test_a_name_without_provider_and_model_is_refused(name: str):
    with pytest.raises(InvalidInput, match="provider:model"):
        asyncio.run(load("llm", "providers").open(name))


def test_an_unknown_provider_is_refused():
    with pytest.raises(ConfigError, match="nowhere"):
        asyncio.run(load("llm", "providers").open("nowhere:x"))


def test_an_address_goes_with_openai_names_only():
    with pytest.raises(InvalidInput, match="openai:"):
        asyncio.run(load("llm", "providers").open("anthropic:x", base_url="http://127.0.0.1:1/v1"))


async def asked(base_url: str) -> Completion:
    model = await load("llm", "providers").open("openai:tiny", base_url=base_url, timeout_s=10.0)
    try:
        return await model.complete(Prompt("", "hello"))
    finally:
        await model.close()


def shown(show: Callable[[LanguageModel], str]) -> str:
    async def opened() -> str:
        model = await load("llm", "providers").open("openai:tiny", base_url="http://127.0.0.1:1/v1", api_key=KEY)
        try:
            return show(model)
        finally:
            await model.close()

    return asyncio.run(opened())


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


def heard(behaviour: Behaviour, timeout_s: float = 10.0) -> tuple[content.Reply, list[str]]:
    pieces: list[str] = []

    async def one_turn(base_url: str) -> content.Reply:
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


def test_garbage_in_a_stream_is_an_error_of_ours() -> None:
    with pytest.raises(BackendError):
        heard(RawBody(b"data: {nonsense\n\n", "text/event-stream"))


def test_a_scripted_model_tells_its_words_too() -> None:
    pieces: list[str] = []
    asyncio.run(ScriptedModel(conversation=[content.Reply("one two  three")]).converse(TURN, pieces.append))
    assert pieces == ["one ", "two  ", "three"]
