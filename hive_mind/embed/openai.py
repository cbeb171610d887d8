"""Embeddings from any HTTP endpoint that speaks OpenAI's protocol: OpenAI itself, or a local Ollama, vLLM or llama.cpp.

Sends texts in batches, one request at a time, tries again what may succeed later, and translates what goes wrong.
How often and how long to wait is left to `hive_mind.retry`. The API key is sent in one header and appears nowhere else.
Nothing of a reply is trusted: the count, the order, the length and every value are checked.
"""

import asyncio
import json
import random
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Matrix, distinct, rounded_unit_rows
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable, InvalidInput
from hive_mind.retry import RetrySettings, Sleep, retried

DEFAULT_MODEL = "text-embedding-3-small"
DEFAULT_URL = "https://api.openai.com/v1"

# A whole batch on a local CPU server takes seconds; a lost connection should not cost minutes.
TIMEOUT_S = 60.0
BATCH_TEXTS = 64
# Endpoints refuse a text above 8,192 tokens. This many characters stay below it in any script with a letter per token.
CHARACTERS_MAX = 8_000

NAME = "openai"


async def open(
    model: str = DEFAULT_MODEL,
    base_url: str = DEFAULT_URL,
    api_key: str = "",
    dimension: int = 0,
    retry: RetrySettings | None = None,
) -> "OpenAIEmbedder":
    """Connect to `base_url` (what comes before "/embeddings"); a local server needs no key.

    Without a `dimension` one short request learns it, and shows at once whether address, key and model are right.
    Raises `InvalidInput` for an address or key that can't be used, and `BackendError`.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise InvalidInput(
            f"the endpoint's address can't be read ({error}); give something like HIVE_MIND_EMBED_URL={DEFAULT_URL}"
        ) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput(
            f"the endpoint's address needs http:// or https:// and a host; give something like HIVE_MIND_EMBED_URL={DEFAULT_URL}"
        )
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInput(
            "the API key has characters no key has (a space, a line break, a letter with an accent); copy it again"
        )
    client = _client(url, key)
    embedder = OpenAIEmbedder(model, client, dimension, retry or RetrySettings())
    try:
        await embedder.learn_dimension()
    except BaseException:
        await embedder.close()
        raise
    return embedder


class OpenAIEmbedder:
    """One model behind one endpoint. Made by `open`, which also learns the dimension."""

    def __init__(
        self,
        model: str,
        client: httpx.AsyncClient,
        dimension: int,
        retry: RetrySettings,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.model = model
        self._client = client
        self.dimension = dimension
        self._retry = retry
        self._sleep = sleep
        self._rng = random.SystemRandom()

    async def learn_dimension(self) -> None:
        if not self.dimension:
            self.dimension = (await self._rows(["dimension"])).shape[1]

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimension); a text is cut after `CHARACTERS_MAX` characters. Raises `BackendError`."""
        parts = distinct([text[:CHARACTERS_MAX] for text in texts])
        batches = [parts.texts[i : i + BATCH_TEXTS] for i in range(0, len(parts.texts), BATCH_TEXTS)]
        none = np.zeros((0, self.dimension), np.float32)
        return parts.spread(np.concatenate([none, *[await self._rows(batch) for batch in batches]]), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        rows = await self.embed_passages([text])
        first: NDArray[np.float32] = rows[0]
        return first

    async def close(self) -> None:
        """Close the connections. Closing twice is fine."""
        await self._client.aclose()

    async def _rows(self, texts: list[str]) -> Matrix:
        return await retried(lambda: self._request(texts), self._retry, rng=self._rng, sleep=self._sleep)

    async def _request(self, texts: list[str]) -> Matrix:
        response = await self._post({"model": self.model, "input": texts, "encoding_format": "float"})
        if response.status_code != httpx.codes.OK:
            secret = self._client.headers.get("Authorization", "").removeprefix("Bearer ")
            reason = reason_in(response.content, secret)
            raise refusal(response.status_code, reason, _seconds(response.headers.get("Retry-After", "")))
        return rows_in(response.content, len(texts), self.dimension)

    async def _post(self, body: dict[str, object]) -> httpx.Response:
        if self._client.is_closed:
            raise BackendRejected(NAME, "this embedder is closed; open it again")
        place = self._client.base_url.host
        try:
            # httpx limits each read; a server that sends a byte now and then must not hold us for ever.
            async with asyncio.timeout(TIMEOUT_S):
                return await self._client.post("embeddings", json=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise BackendTimeout(NAME, f"no reply from {place} within {TIMEOUT_S:g} s; try again later") from error
        except httpx.RequestError as error:
            why = str(error) or type(error).__name__
            raise BackendUnavailable(
                NAME, f"{place} can't be reached ({why}); check the address (HIVE_MIND_EMBED_URL) and that the server runs"
            ) from error


def _client(url: httpx.URL, key: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S)


def _seconds(retry_after: str) -> float | None:
    # The header may also be a date; nobody sends that for embeddings, and then our own back-off is good enough.
    return float(retry_after) if retry_after.strip().isdecimal() else None


def rows_in(body: bytes, count: int, dimension: int) -> Matrix:
    """Shape (count, dimension), in the order of the request whatever the order of the reply.

    `dimension` 0 takes what comes. Raises `BackendRejected`.
    """
    matrix = _matrix(_vectors(body, count))
    if dimension and matrix.shape[1] != dimension:
        raise _strange(f"vectors have {matrix.shape[1]} numbers instead of {dimension}; check the model and the dimension")
    try:
        return rounded_unit_rows(matrix)
    except ValueError as error:
        raise _strange(f"{error}; the model may not take one of the texts") from error


def _vectors(body: bytes, count: int) -> list[Any]:
    try:
        items = json.loads(body)["data"]
        by_index = {item["index"]: item["embedding"] for item in items}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _strange("it is not the JSON of an embeddings endpoint; check its address") from error
    if len(items) != count or set(by_index) != set(range(count)):
        raise _strange(f"it does not hold one vector for each of {count} texts; check that the model makes embeddings")
    return [by_index[i] for i in range(count)]


def _matrix(vectors: list[Any]) -> Matrix:
    try:
        matrix = np.asarray(vectors)
    except ValueError as error:
        raise _strange("vectors have different lengths") from error
    if matrix.dtype.kind not in "iuf" or matrix.ndim != 2 or not matrix.shape[1]:
        raise _strange("a vector is not a list of numbers")
    with np.errstate(over="ignore"):
        return matrix.astype(np.float32)


def _strange(problem: str) -> BackendRejected:
    return BackendRejected(NAME, f"the reply can't be used: {problem}")


def refusal(status: int, reason: str, retry_after_s: float | None) -> BackendError:
    """The error for a reply that is not a success.

    `reason` is what the server says, already short and free of secrets; `retry_after_s` its wish, if any.
    """
    status_text = f"HTTP {status}{': ' + reason if reason else ''}"
    if status == 429 and "quota" not in reason.lower():
        return BackendThrottled(NAME, f"too many requests ({status_text}); try again later", retry_after_s)
    if status == 408 or status >= 500:
        return BackendUnavailable(NAME, f"the endpoint failed ({status_text}); try again later")
    return BackendRejected(NAME, f"the endpoint refused ({status_text}); {_remedy(status)}")


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "check the API key (HIVE_MIND_EMBED_KEY)"
    if status == 429:
        return "check the plan and the billing of this key"
    return (
        "check the address and the model's name"
        if status in (301, 302, 307, 308, 404, 405)
        else "check the model's name and its limits"
    )


def reason_in(body: bytes, secret: str) -> str:
    """The text of an error body, on one line of at most 200 characters, without the key should the server repeat it."""
    try:
        error = json.loads(body)["error"]
        text = f"{error['message']} {error.get('code') or ''}" if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    line = " ".join(text.split())
    return (line.replace(secret, "…") if secret else line)[:200]
