"""The form of a request to an agent: a type with its fields and their bounds, its reply, and the doors at which it may be put.

All of them stand in `api.requests`. What is not one is refused here, in the same words whichever way it came.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import Bounds, shown_value
from hive_mind.model.decoding import converted

Door = Literal["command", "http", "mcp", "console"]
"""Where it comes in, and so who puts it: a person at a command line or at the pages, a program of an operator, a model."""

OnEvent = Callable[[str, Mapping[str, Any]], object]
"""Takes what is known before the reply: an event's name and what it says."""

Progress = Callable[[int, int], object]
"""Takes how much is done, of how much."""

KEY_CHARACTERS_MAX = 200
REQUEST_BYTES_MAX = 1 << 20

_COMMON = ("id", "key")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Any request: with a number of the client's own, and a `key` under which it is carried out once."""

    id: int | str = 0
    key: str = ""


class OfFact(Request, frozen=True, kw_only=True):
    """A request about one fact: its id, or the beginning that a person sees of it."""

    fact_id: str


Kind = TypeVar("Kind", bound=type[Request])


@dataclass(frozen=True)
class Entry:
    """A request in the register. `gives` is the type of its reply; `reports`: whether it tells something before that.

    `reads`: it changes nothing, so that a view of the memory answers it while others have that open. `again`: it changes
    something, and clients put it again under its key where its answer was lost.
    """

    kind: type[Request]
    gives: Any
    doors: frozenset[Door]
    reports: bool
    reads: bool
    again: bool

    @cached_property
    def name(self) -> str:
        return name_of(self.kind)

    @cached_property
    def summary(self) -> str:
        return inspect.cleandoc(self.kind.__doc__ or "")

    @cached_property
    def needs(self) -> tuple[str, ...]:
        return tuple(field.name for field in msgspec.structs.fields(self.kind) if field.required)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """All that it may have, those of any request last."""
        return (*(name for name in self.kind.__struct_fields__ if name not in _COMMON), *_COMMON)

    @cached_property
    def bounds(self) -> Mapping[str, Bounds]:
        """Of its numbers, by field."""
        fields = msgspec.structs.fields(self.kind)
        return {field.name: note for field in fields for note in _notes_in(field.type) if isinstance(note, Bounds)}

    @cached_property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The words of which a field that it needs is one, by field."""
        fields = [field for field in msgspec.structs.fields(self.kind) if field.required]
        return {field.name: note for field in fields for note in _notes_in(field.type) if isinstance(note, tuple)}

    def request(self, fields: Mapping[str, object]) -> Request:
        """Made of its fields; null is a field left out. Raises `InvalidInput`, which says what is wrong with them."""
        present = {name: value for name, value in fields.items() if value is not None}
        try:
            request: Request = converted(present, self.kind)
        # Half a surrogate pair is no word of a choice, and can't be encoded to be compared with one.
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            if unknown := sorted(present.keys() - set(self.fields)):
                raise InvalidInput(f"{self.name} has no field {unknown[0][:40]!r}; it has {', '.join(self.fields)}") from error
            if missing := [name for name in self.needs if name not in present]:
                raise InvalidInput(f"{self.name} needs the field {missing[0]!r}") from error
            self._refuse_out_of_bounds(present)
            for name, words in self.choices.items():
                if name in present and present[name] not in words:
                    message = f"`{name}` is one of {', '.join(words)}, not {shown_value(present[name])!r}"
                    raise InvalidInput(message) from error
            raise InvalidInput(f"no request: {error}") from error
        self._refuse_out_of_bounds(present)
        return request

    def _refuse_out_of_bounds(self, present: Mapping[str, object]) -> None:
        for name, bounds in self.bounds.items():
            if name in present:
                bounds.refuse(name, present[name])


class Register(dict[str, Entry]):
    """Requests by name."""

    def request(
        self,
        *,
        gives: Any,
        doors: tuple[Door, ...] = ("command",),
        reports: bool = False,
        reads: bool = False,
        again: bool = False,
    ) -> Callable[[Kind], Kind]:
        """Put a type of request here; see `Entry`. Its docstring says what it is for."""

        def registered(kind: Kind) -> Kind:
            entry = Entry(kind, gives, frozenset(doors), reports, reads, again)
            self[entry.name] = entry
            return kind

        return registered

    def entry(self, name: str) -> Entry:
        """Raises `InvalidInput` where there is none."""
        if (entry := self.get(name)) is None:
            raise InvalidInput(f"there is no {name[:40]!r}; known: {', '.join(sorted(self))}")
        return entry


def name_of(kind: type[Request]) -> str:
    """The name by which it is put: `why_not` for `WhyNot`."""
    return _WORD.sub("_", kind.__name__).lower()


def _notes_in(annotation: Any) -> Iterator[object]:
    """Bounds, and the words of a literal, wherever they stand in a type."""
    if get_origin(annotation) is Annotated:
        yield from (note for note in annotation.__metadata__ if isinstance(note, Bounds))
    elif get_origin(annotation) is Literal:
        yield get_args(annotation)
    else:
        for argument in get_args(annotation):
            yield from _notes_in(argument)
