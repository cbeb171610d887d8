"""Places that still hold erased texts: files of a home, looked through last, and messages on a bus.

Anything else that has quoted one (a run's ledger, a question that waits for a person, a log) is found here and named.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.model.erasure import Erasure, Erasures
from hive_mind.model.messages import Encrypted

_BLOCK_BYTES = 8 << 20


def residue(folder: Path, texts: Iterable[str]) -> Iterator[Path]:
    """Files below a folder in which one of these texts stands, as it is or as JSON writes it; letter case does not matter."""
    needles = _wanted(texts)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and _has(path, needles):
            yield path


def has_residue(path: Path, texts: Iterable[str]) -> bool:
    """Whether one of these texts stands in a file."""
    return _has(path, _wanted(texts))


def _wanted(texts: Iterable[str]) -> Sequence[bytes]:
    return sorted({form for text in texts if text.strip() for form in _forms(text)})


def _forms(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "replace").lower()
    yield msgspec.json.encode(text)[1:-1].lower()


def _has(path: Path, needles: Sequence[bytes]) -> bool:
    rest, overlap = b"", max(map(len, needles), default=1) - 1
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            window = rest + block.lower()
            if any(needle in window for needle in needles):
                return True
            rest = window[-overlap:] if overlap else b""
    return False


def quotes(wanted: Sequence[Erasure]) -> Callable[[Envelope], bool]:
    """Whether any text in a message names or is what is meant. A message that only lets go of it is deleted, too: it comes again.

    So does an encrypted one: nobody can look into it here, and its sender sends it again.
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
        for key, part in value.items():
            yield from _texts_in(key)
            yield from _texts_in(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _texts_in(part)
