"""A language model that is slow, hangs, drips or stalls keeps nobody waiting beyond the limit that is set, and is asked once."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.backends import load
from hive_mind.errors import BackendTimeout
from hive_mind.model.content import Message, Turn
from hive_mind.runtime import worker_http
from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.openai_compatible import Behaviour, Drip, OpenAICompatibleServer, RawBody, Refusal, Silence

QUESTION = "When does the ferry to Corrin leave?"
QUOTE = "The ferry to Corrin leaves at nine."
# As slow as one can be: a byte now and then, for ever.
DRIPPING = Drip((b"{",) + (b" ",) * 600)
REPLY = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}


def streamed(*words: str, is_whole: bool) -> tuple[bytes, ...]:
    deltas = [({"role": "assistant", "content": word}, None) for word in words]
    chunks = [REPLY | {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    if is_whole:
        chunks.append(REPLY | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return (*lines, b"data: [DONE]\n\n") if is_whole else tuple(lines)


@pytest.fixture(params=["hangs", "drips", "gives up"])
def late(request: pytest.FixtureRequest) -> Iterator[OpenAICompatibleServer]:
    """A server that is late, in one way or another, each time that it is asked."""
    ways: dict[str, Behaviour] = {"hangs": Silence(), "drips": DRIPPING, "gives up": Refusal(504)}
    with OpenAICompatibleServer([ways[request.param]] * 9) as server:
        yield server


def asking(hive_mind: HiveMind, server: OpenAICompatibleServer) -> HiveMind:
    return hive_mind.with_environment(HIVE_MIND_LLM="openai:tiny", HIVE_MIND_LLM_URL=server.base_url, HIVE_MIND_LLM_TIMEOUT_S="1")


def test_quotes_are_printed_when_the_model_is_late(hive_mind: HiveMind, notes: Path, late: OpenAICompatibleServer) -> None:
    assert hive_mind("learn", notes).code == 0
    ended = asking(hive_mind, late)("ask", QUESTION)
    assert ended.code == 0
    assert QUOTE in ended.out
    assert "quoted instead of reasoned" in ended.err
    assert len(late.requests) == 1


def test_learning_ends_with_what_to_do_and_asks_a_late_model_once(
    hive_mind: HiveMind, notes: Path, late: OpenAICompatibleServer
) -> None:
    ended = asking(hive_mind, late)("learn", notes)
    assert ended.code != 0
    assert "allow more time: HIVE_MIND_LLM_TIMEOUT_S" in ended.err or "the provider gave up waiting" in ended.err
    assert len(late.requests) == 1


def test_a_line_says_that_a_model_is_waited_for(hive_mind: HiveMind, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.llm.providers.NOTICE_FIRST_S", 0.01)
    assert hive_mind("learn", notes).code == 0
    with OpenAICompatibleServer([Silence()]) as server:
        assert "waiting for openai:tiny" in asking(hive_mind, server)("ask", QUESTION).err


def test_a_line_says_that_a_slow_model_is_waited_for(guarded: HiveMind, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_http, "NOTICE_FIRST_S", 1.0)
    assert guarded("learn", notes).code == 0
    with OpenAICompatibleServer([Silence()]) as server:
        slow = asking(guarded, server).with_environment(HIVE_MIND_LLM_TIMEOUT_S="5")
        assert slow("serve").code == 0
        ended = slow("ask", QUESTION)
        assert slow("serve", "--stop").code == 0
    assert (ended.code, QUOTE in ended.out) == (0, True)
    assert "it lives, and works on the reply" in ended.err


def test_how_often_a_provider_in_trouble_is_asked_can_be_set(hive_mind: HiveMind, notes: Path) -> None:
    assert hive_mind("learn", notes).code == 0
    with OpenAICompatibleServer([Refusal(503)] * 9) as server:
        ended = asking(hive_mind, server).with_environment(HIVE_MIND_LLM_TRIES="2")("ask", QUESTION)
        assert (QUOTE in ended.out, len(server.requests)) == (True, 2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("HIVE_MIND_LLM_TIMEOUT_S", "0"),
        ("HIVE_MIND_LLM_TIMEOUT_S", "soon"),
        ("HIVE_MIND_LLM_TRIES", "-1"),
        ("HIVE_MIND_LLM_TRIES", "1e3"),
    ],
)
def test_a_limit_that_can_mean_nothing_is_refused(hive_mind: HiveMind, name: str, text: str) -> None:
    ended = hive_mind.with_environment(**{name: text})("ask", QUESTION)
    assert ended.code == 2
    assert f"{name} is a whole number of 1 or more" in ended.err


def heard(behaviour: Behaviour, timeout_s: float) -> str:
    """A reply as it is heard piece by piece."""

    async def turn(base_url: str) -> str:
        model = await load("llm", "providers").open("openai:tiny", base_url=base_url, timeout_s=timeout_s)
        pieces: list[str] = []
        try:
            await model.converse(Turn("be brief", (Message("user", "hello"),)), pieces.append)
        finally:
            await model.close()
        return "".join(pieces)

    with OpenAICompatibleServer([behaviour]) as server:
        return asyncio.run(turn(server.base_url))


@pytest.mark.parametrize(
    ("behaviour", "timeout_s"),
    [
        (Drip(streamed("The", " pump", is_whole=False), "text/event-stream"), 1.0),
        (Drip(streamed(*["word "] * 600, is_whole=False), "text/event-stream"), 0.3),
    ],
    ids=["stalls", "has no end"],
)
def test_a_stream_that_stalls_or_has_no_end_ends(behaviour: Behaviour, timeout_s: float) -> None:
    with pytest.raises(BackendTimeout, match="HIVE_MIND_LLM_TIMEOUT_S"):
        heard(behaviour, timeout_s)


def test_a_stream_that_goes_on_may_take_longer_than_one_piece_and_what_comes_whole_is_not_late() -> None:
    words = ["word "] * 40
    whole = Drip(streamed(*words, is_whole=True), "text/event-stream", has_end=True)
    assert heard(whole, timeout_s=1.0) == "".join(words)
    assert heard(RawBody(b"".join(streamed("The", " pump", is_whole=True)), "text/event-stream"), timeout_s=10.0) == "The pump"
