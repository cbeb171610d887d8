"""The form of a request to an agent, and the register of them: each handler names its fields and its answer.

The register is the one source of refusals and of the OpenAPI document.

A request that is put again under its key, because its answer was lost on the way: it waits for that answer, and does nothing.

This is known as long as the process lives; `memory.requests_done` knows it beyond that.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import BOUNDS, Bounds
from hive_mind.model.content import SOURCE
from hive_mind.model.fact import CONFIDENCE
from hive_mind.model.query import LIMIT, METHOD, Method

OnEvent = Callable[[str, Mapping[str, Any]], None]
"""Takes what is known before the reply: an event's name and what it says."""

Handler = TypeVar("Handler", bound=Callable[..., Any])

_PREFIX = "_do_"
# Of any request.
_COMMON = ("id", "key")

PUT_AGAIN = frozenset({"learn", "store", "correct", "retract"})
"""The requests that change something and that clients put again."""

READING = frozenset({"aggregate", "ask", "conflicts", "export", "facts", "named", "search", "sources", "stats", "why"})
"""The requests that change nothing, so that a view of the memory answers them while others have it open."""

REQUEST_BYTES_MAX = 1 << 20
KEY_CHARACTERS_MAX = 200
_KEPT = 1024


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A request, with what any of them may need."""

    do: str
    id: int | str = 0
    text: str = ""
    content: str = ""
    concept: str = ""
    confidence: float = CONFIDENCE
    source: str = SOURCE
    said_at: str = ""
    labels: tuple[str, ...] = ()
    title: str = ""
    query: str = ""
    method: Method = METHOD
    limit: int = LIMIT
    with_superseded: bool = False
    as_of: str = ""
    question: str = ""
    with_found: bool = False
    fact_id: str = ""
    local: bool = False
    to: str = ""
    kind: str = "note"
    trust: float | None = None
    good: bool | None = None
    paths: tuple[str, ...] = ()
    whole: bool = False
    episodes: tuple[str, ...] = ()
    rule: dict[str, Any] = {}
    worker: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    run: str = ""
    stream: str = ""
    erasures: tuple[str, ...] = ()
    digest: str = ""
    left_out: dict[str, int] = {}
    offset: int = 0
    letters: tuple[str, ...] = ()
    because: str = ""
    key: str = ""
    """Of a request that may be put again."""


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of the register. `gives` is the type of its reply; `reports`: whether it tells something before that.

    `kinds` is what the field `kind` may be; () for anything. `limit`: the bounds of that field.
    """

    name: str
    summary: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    gives: Any
    reports: bool
    kinds: tuple[str, ...] = ()
    limit: Bounds = BOUNDS["limit"]

    @property
    def bounds(self) -> Mapping[str, Bounds]:
        """Of its fields, by name."""
        return {name: bounds for name, bounds in {**BOUNDS, "limit": self.limit}.items() if name in self.fields}

    @property
    def fields(self) -> tuple[str, ...]:
        """All that it may have, those of any request last."""
        return (*self.needs, *self.takes, *_COMMON)

    def refuse_others(self, given: Mapping[str, object]) -> None:
        """Raises `InvalidInput` for a field that it has not, or that it lacks."""
        if unknown := sorted(given.keys() - set(self.fields)):
            raise InvalidInput(f"{self.name} has no field {unknown[0][:40]!r}; it has {', '.join(self.fields)}")
        if missing := [name for name in self.needs if name not in given]:
            raise InvalidInput(f"{self.name} needs the field {missing[0]!r}")

    def refuse_beyond(self, call: Call) -> None:
        """Raises `InvalidInput` for a number out of its bounds, and a `kind` that is not one of its own."""
        for name, bounds in self.bounds.items():
            # None: left out, of a field without a default.
            if (value := getattr(call, name)) is not None:
                bounds.refuse(name, value)
        if self.kinds and call.kind not in self.kinds:
            raise InvalidInput(f"`kind` is one of {', '.join(self.kinds)}, not {call.kind[:40]!r}")


def request(
    *takes: str,
    needs: tuple[str, ...] = (),
    gives: Any,
    reports: bool = False,
    kinds: tuple[str, ...] = (),
    limit: Bounds = BOUNDS["limit"],
) -> Callable[[Handler], Handler]:
    """Put a handler, `_do_<name>`, into the register. Its docstring says what the request is for."""

    def registered(handler: Handler) -> Handler:
        name, summary = handler.__name__.removeprefix(_PREFIX), inspect.cleandoc(handler.__doc__ or "")
        setattr(handler, _ENTRY, Request(name, summary, needs, takes, gives, reports, kinds, limit))
        return handler

    return registered


_ENTRY = "registered_request"


def entry_of(register: Mapping[str, Request], name: str) -> Request:
    """The entry of a request. Raises `InvalidInput` where there is none."""
    if (asked := register.get(name)) is None:
        raise InvalidInput(f"there is no {name[:40]!r}; known: {', '.join(register)}")
    return asked


def read_call(register: Mapping[str, Request], fields: Mapping[str, object]) -> Call:
    """A request from its fields, whichever way they came; null is a field left out. Raises `InvalidInput`."""
    given = {name: value for name, value in fields.items() if value is not None}
    asked = entry_of(register, str(given.pop("do", "")))
    asked.refuse_others(given)
    for field, bounds in asked.bounds.items():
        if field in given:
            bounds.refuse(field, given[field])
    try:
        return msgspec.convert({"do": asked.name, **given}, Call)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"no request: {error}") from error


def requests_of(calls: type) -> Mapping[str, Request]:
    """The register of a class of handlers, by name."""
    named = ((name.removeprefix(_PREFIX), getattr(calls, name)) for name in sorted(dir(calls)) if name.startswith(_PREFIX))
    return {name: getattr(handler, _ENTRY) for name, handler in named}


class PutAgain:
    """Answers by key, the latest of them."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[object, asyncio.Task[Any]]] = {}

    async def once(self, key: str, request: object, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of the work for this request, made now or before. Failed work is done again the next time.

        Raises what it raises, and `InvalidInput` for the key of another request. Without a key nothing is known of it.
        """
        if not key:
            return await work()
        if len(key) > KEY_CHARACTERS_MAX:
            raise InvalidInput(f"the key of a request has {len(key)} characters, at most {KEY_CHARACTERS_MAX}")
        earlier, asked = self._asked.get(key, (request, None))
        if earlier != request:
            raise InvalidInput("another request was put under this key: give each request a key of its own")
        if asked is None or (asked.done() and (asked.cancelled() or asked.exception())):
            # A task of its own: a caller that gives up waiting stops nothing.
            asked = asyncio.create_task(work())
            self._asked[key] = request, asked
            self._forget_oldest()
        return await asyncio.shield(asked)

    def _forget_oldest(self) -> None:
        while len(self._asked) > _KEPT:
            # The oldest are done, but for a few.
            if (key := next((key for key, (_, asked) in self._asked.items() if asked.done()), None)) is None:
                return
            del self._asked[key]
