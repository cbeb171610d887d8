"""Whether a message on a bus says something that is to be erased, whatever kind of message it is."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.model.erasure import Erasure, Erasures
from hive_mind.model.messages import Encrypted


def quotes(wanted: Sequence[Erasure]) -> Callable[[Envelope], bool]:
    """Whether any text in a message names or is what is meant. What only lets go of it is deleted, too: it comes again.

    So does what is encrypted: nobody can look into it here, and its sender says it again.
    """
    erasures = Erasures(wanted)

    def is_meant(envelope: Envelope) -> bool:
        if isinstance(envelope.message, Encrypted):
            return True
        return any(map(_is_it, _texts_in(msgspec.to_builtins(envelope.message, builtin_types=(bytes,)))))

    def _is_it(text: str) -> bool:
        is_name = erasures.covers_agent(text) or erasures.covers_source(text)
        return is_name or erasures.covers_fact(text, [text])

    return is_meant


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="ignore")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts_in(key)
            yield from _texts_in(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _texts_in(one)
