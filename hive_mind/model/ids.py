"""Names computed from what they name, so that the same thing has the same name everywhere and without coordination.

A fact's id depends on its tenant and its text, and on nothing else: one content is one fact, from however many sources.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from hive_mind.remembered import remembered

DEFAULT_TENANT = "default"
ID_CHARACTERS = 32
_HEX = frozenset("0123456789abcdef")
PREFIX_CHARACTERS_MIN = 6
"""How much of an id a person gives at least."""


def canonical(text: str) -> str:
    """The text as it is compared: Unicode NFC, runs of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fact_id(content: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: BLAKE2b-128 of tenant and canonical content."""
    return _digest("fact", tenant, canonical(content))


def is_id(text: str) -> bool:
    """Whether it is a whole id, of whatever."""
    return len(text) == ID_CHARACTERS and _HEX.issuperset(text)


def episode_id(text: str, source: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits. An episode is what one source said: the same text from another source is another episode."""
    return _digest("episode", tenant, source, text)


def entity_id(name: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits; letter case and white space do not make another entity."""
    return _digest("entity", tenant, canonical(name).casefold())


def item_id(kind: str, subject: str, case_digest: str) -> str:
    """32 hexadecimal digits: an item that waits for a person is one, however often and by whichever agent it is asked."""
    return _digest("item", kind, subject, case_digest)


def judgment_id(goal: str, case_digest: str, iteration: int) -> str:
    """32 hexadecimal digits: the same result judged again in the same turn is one judgement."""
    return _digest("judgment", goal, case_digest, str(iteration))


def erasure_digest(kind: str, name: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: the item to be forgotten, without its name."""
    return _digest("erasure", tenant, kind, name)


def source_digest(source: str, tenant: str = DEFAULT_TENANT) -> str:
    """32 hexadecimal digits: a source, without its name."""
    return _digest("source", tenant, source)


def vector_key(model: str, text: str) -> str:
    """Where the embedding of `text` by `model` is cached: 32 hexadecimal digits."""
    return _digest("vector", model, text)


def vector_keys(model: str, texts: Iterable[str]) -> Iterator[str]:
    started = _begun("vector", model)
    for text in texts:
        digest = started.copy()
        digest.update(_framed(text))
        yield digest.hexdigest()


def _digest(*parts: str) -> str:
    *first, last = parts
    digest = _begun(*first).copy()
    digest.update(_framed(last))
    return digest.hexdigest()


@remembered(64)
def _begun(*parts: str) -> blake2b:
    return blake2b(b"".join(map(_framed, parts)), digest_size=16)


def _framed(part: str) -> bytes:
    """The length keeps ("ab", "c") and ("a", "bc") apart."""
    encoded = part.encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(8, "big") + encoded
