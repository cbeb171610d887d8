"""Which requests a memory has carried out: noted in the same write as their changes, so that none is done twice.

A client gives each request a key of its own and may put it again, after a lost connection or a kill. Changes made meanwhile stay.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from hive_mind.store.base import SetMeta

_PREFIX = "request."
# A client that gave up waiting puts it again within a minute or never. Places are used in turn.
_PLACES = 4096


class RequestsDone:
    """Fact ids by key. `meta`: the named values of a store."""

    def __init__(self, meta: Mapping[str, str]) -> None:
        notes = sorted(
            (value.split(" ") for key, value in meta.items() if key.startswith(_PREFIX)), key=lambda note: int(note[0])
        )
        self._facts = {key: fact_id for _, key, fact_id in notes}
        self._count = int(notes[-1][0]) if notes else 0

    def fact_id(self, request: str) -> str:
        """The fact that it left; "" where it was not carried out, or has no key."""
        return self._facts.get(_digest(request), "") if request else ""

    def note(self, request: str, fact_id: str) -> list[SetMeta]:
        """The record to write with its changes; none for a request without a key."""
        if not request:
            return []
        self._count += 1
        return [SetMeta(f"{_PREFIX}{self._count % _PLACES}", f"{self._count} {_digest(request)} {fact_id}")]

    def remember(self, request: str, fact_id: str) -> None:
        if not request:
            return
        if len(self._facts) >= _PLACES:
            del self._facts[next(iter(self._facts))]
        self._facts[_digest(request)] = fact_id


def reason_with(request: str) -> str:
    """The reason in a moderator's registry entry: its request, so that this one is not carried out twice either."""
    return msgspec.json.encode({"request": _digest(request)}).decode() if request else "true"


def is_of_request(reason: Any, request: str) -> bool:
    """Whether an entry's value is of this request."""
    return bool(request) and isinstance(reason, dict) and reason.get("request") == _digest(request)


def _digest(request: str) -> str:
    return sha256(request.encode("utf-8", "surrogatepass")).hexdigest()[:32]
