"""Reading what an embeddings endpoint answers: a status, headers and a body become a matrix or one clear error.

Nothing from outside is trusted: the count, the order, the length and every value are checked. Sending is left to
`openai`.
"""

import json
from typing import Any

import numpy as np

from hive_mind.embed.base import Matrix, rounded_unit_rows
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable

NAME = "openai"


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


def _strange(what: str) -> BackendRejected:
    return BackendRejected(NAME, f"the reply can't be used: {what}")


def refusal(status: int, reason: str, retry_after_s: float | None) -> BackendError:
    """The error for a reply that is not a success.

    `reason` is what the server says, already short and free of secrets; `retry_after_s` its wish, if any.
    """
    said = f"HTTP {status}{': ' + reason if reason else ''}"
    if status == 429 and "quota" not in reason.lower():
        return BackendThrottled(NAME, f"too many requests ({said}); try again later", retry_after_s)
    if status == 408 or status >= 500:
        return BackendUnavailable(NAME, f"the endpoint failed ({said}); try again later")
    return BackendRejected(NAME, f"the endpoint refused ({said}); {_remedy(status)}")


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
    """What an error body says, on one line of at most 200 characters, without the key should the server repeat it."""
    try:
        error = json.loads(body)["error"]
        text = f"{error['message']} {error.get('code') or ''}" if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    line = " ".join(text.split())
    return (line.replace(secret, "…") if secret else line)[:200]
