import asyncio
import json

import httpx
import numpy as np
import pytest

from hive_mind.embed import openai
from hive_mind.errors import BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable, InvalidInput
from hive_mind.retry import RetrySettings
from tests.servers.openai_compatible import Cut, OpenAICompatibleServer, RawBody, Refusal, Reply, Silence, embedding_of

ONCE = RetrySettings(attempts_max=1)
AT_ONCE = RetrySettings(attempts_max=3, delay_first_s=0.0)


def rows_after(script, texts, *, retry=ONCE, dimension=8, api_key="", server_dimension=8):
    """What one call gives, and the requests the server saw."""

    async def session(base_url):
        embedder = await openai.open("m", base_url, api_key, dimension, retry)
        try:
            return await embedder.embed_passages(texts)
        finally:
            await embedder.close()

    with OpenAICompatibleServer(script, server_dimension) as server:
        try:
            return asyncio.run(session(server.base_url)), server.requests
        except Exception as error:
            error.requests = server.requests
            raise


def reply(*items):
    return RawBody(json.dumps({"data": list(items)}).encode())


def test_the_models_name_and_the_key_are_sent_as_the_protocol_wants():
    _, requests = rows_after([], ["a", "b"], api_key="secret-key")
    assert [request.path for request in requests] == ["/v1/embeddings"]
    assert requests[0].body == {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert requests[0].headers["authorization"] == "Bearer secret-key"


def test_without_a_key_no_credentials_are_sent():
    _, requests = rows_after([], ["a"])
    assert "authorization" not in requests[0].headers


def test_the_dimension_is_learnt_at_the_start_unless_it_is_given():
    rows, requests = rows_after([], ["a"], dimension=0, server_dimension=5)
    assert rows.shape == (1, 5)
    assert len(requests) == 2


def test_many_texts_go_in_several_requests_and_come_back_in_order():
    texts = [f"text {i}" for i in range(150)]
    rows, requests = rows_after([], texts)

    assert [len(request.body["input"]) for request in requests] == [64, 64, 22]
    expected = np.array([embedding_of(text, 8) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, expected, atol=1e-3)


def test_a_reply_in_another_order_is_put_in_ours():
    script = [reply({"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]})]
    rows, _ = rows_after(script, ["a", "b"], dimension=2)
    assert rows.tolist() == [[1, 0], [0, 1]]


def test_a_very_long_text_is_cut():
    _, requests = rows_after([], ["x" * 1_000_000])
    assert len(requests[0].body["input"][0]) == openai.CHARACTERS_MAX


STRANGE = {
    "not JSON": RawBody(b"<html>hello</html>", "text/html"),
    "no data": RawBody(b'{"object": "list"}'),
    "a list": RawBody(b"[1, 2]"),
    "not UTF-8": RawBody(b"\xff\xfe\x00"),
    "too deep": RawBody(b"[" * 200_000),
    "too few": reply({"index": 0, "embedding": [1.0, 0.0]}),
    "too many": reply(*({"index": i, "embedding": [1.0, 0.0]} for i in range(3))),
    "the same place twice": reply(*({"index": 0, "embedding": [1.0, 0.0]} for _ in range(2))),
    "NaN": RawBody(b'{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [1, 1]}]}'),
    "beyond float32": reply(*({"index": i, "embedding": [1e300, 1.0]} for i in range(2))),
    "beyond any float": RawBody(
        b'{"data": [{"index": 0, "embedding": [%s, 1]}, {"index": 1, "embedding": [1, 1]}]}' % (b"9" * 400)
    ),
    "text for numbers": reply(*({"index": i, "embedding": ["1", "2"]} for i in range(2))),
    "one number": reply(*({"index": i, "embedding": 1.0} for i in range(2))),
    "nothing": reply(*({"index": i, "embedding": []} for i in range(2))),
    "two lengths": reply({"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [1.0]}),
    "another length": reply(*({"index": i, "embedding": [1.0, 0.0, 0.0]} for i in range(2))),
}


@pytest.mark.parametrize("body", STRANGE.values(), ids=STRANGE.keys())
def test_a_reply_that_is_no_answer_is_refused_and_not_asked_for_again(body):
    with pytest.raises(BackendRejected, match="the reply can't be used") as caught:
        rows_after([body], ["a", "b"], dimension=2, retry=AT_ONCE)
    assert len(caught.value.requests) == 1


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Refusal(429), BackendThrottled),
        (Refusal(429, "insufficient_quota"), BackendRejected),
        (Refusal(500), BackendUnavailable),
        (Refusal(503), BackendUnavailable),
        (Refusal(408), BackendUnavailable),
        (Refusal(400), BackendRejected),
        (Refusal(401), BackendRejected),
        (Refusal(404), BackendRejected),
        (Refusal(301), BackendRejected),
        (Cut(), BackendUnavailable),
        (Cut(sent=20), BackendUnavailable),
    ],
    ids=str,
)
def test_every_failure_has_its_own_kind(behaviour, error):
    with pytest.raises(error) as caught:
        rows_after([behaviour], ["a"])
    assert type(caught.value) is error


def test_trouble_that_passes_is_not_noticed():
    rows, requests = rows_after([Refusal(500), Cut(), Reply()], ["a"], retry=AT_ONCE)
    assert rows.shape == (1, 8)
    assert len(requests) == 3


def test_attempts_are_bounded():
    with pytest.raises(BackendUnavailable) as caught:
        rows_after([Refusal(500)] * 10, ["a"], retry=AT_ONCE)
    assert len(caught.value.requests) == 3


async def test_we_wait_as_long_as_the_server_asks():
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    with OpenAICompatibleServer([Refusal(429, retry_after_s="7")]) as server:
        async with httpx.AsyncClient(base_url=server.base_url) as client:
            await openai.OpenAIEmbedder("m", client, 8, RetrySettings(delay_first_s=0.0), note).embed_query("a")

    assert waits == [7.0]


def test_a_date_in_retry_after_is_not_taken_for_seconds():
    with pytest.raises(BackendThrottled) as caught:
        rows_after([Refusal(429, retry_after_s="Wed, 21 Oct 2026 07:28:00 GMT")], ["a"])
    assert caught.value.retry_after_s is None


def test_a_silent_server_is_a_timeout(monkeypatch):
    monkeypatch.setattr(openai, "TIMEOUT_S", 0.05)
    with pytest.raises(BackendTimeout, match="no reply"):
        rows_after([Silence()], ["a"])


def test_nobody_listening_is_said_with_the_host_and_what_to_do():
    with OpenAICompatibleServer() as server:
        gone = server.base_url
    with pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1 can't be reached .* check the address"):
        asyncio.run(openai.open("m", gone, retry=ONCE))


def test_the_key_is_in_no_message_and_no_repr():
    with pytest.raises(BackendRejected) as caught:
        rows_after([Refusal(401, message="wrong key sk-12345 given")], ["a"], api_key="sk-12345")

    assert "wrong key … given" in str(caught.value)
    assert "sk-12345" not in repr(caught.value)

    async def described() -> str:
        embedder = await openai.open("m", api_key="sk-12345", dimension=3)
        await embedder.close()
        return f"{embedder!r} {vars(embedder)!r}"

    assert "sk-12345" not in asyncio.run(described())


@pytest.mark.parametrize("base_url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://host:x"])
def test_an_address_that_can_not_be_used_is_refused_with_an_example(base_url):
    with pytest.raises(InvalidInput, match="give something like HIVE_MIND_EMBED_URL=https://"):
        asyncio.run(openai.open("m", base_url))


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_damaged_key_is_refused_without_repeating_it(key):
    with pytest.raises(InvalidInput, match="copy it again") as caught:
        asyncio.run(openai.open("m", api_key=key))
    assert key not in str(caught.value)


def test_after_closing_a_call_says_so():
    async def session() -> None:
        embedder = await openai.open("m", dimension=3)
        await embedder.close()
        await embedder.embed_query("a")

    with pytest.raises(BackendRejected, match="open it again"):
        asyncio.run(session())
