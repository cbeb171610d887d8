"""Sources of the facts learned: figures of each source, and its last reader's note.

A note stands under a digest, so that a source that is erased leaves no name behind. One that is lost costs a second reading.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hive_mind.memory.editions.editions import vouched_by
from hive_mind.model.content import KnownSource, SourceNote
from hive_mind.model.decoding import json_decoder
from hive_mind.model.fact import Fact
from hive_mind.model.ids import source_digest
from hive_mind.store.base import SetMeta

WITHDRAWN = "This source says nothing any more: it is gone, or was withdrawn."


def noted(source: str, note: SourceNote | None) -> SetMeta:
    """The write that keeps a note, or None for no note any more."""
    return SetMeta(_key(source), msgspec.json.encode(note).decode() if note else "")


def sources_of(facts: Iterable[Fact], meta: Mapping[str, str], below: str = "") -> list[KnownSource]:
    """All sources with a name that begins like this, in order. Retracted facts are counted nowhere."""
    facts_by_source: dict[str, list[Fact]] = {}
    for fact in facts:
        for source in fact.sources:
            if source.startswith(below) and not fact.is_retracted:
                facts_by_source.setdefault(source, []).append(fact)
    return [_known(source, facts_said, _note_of(source, meta)) for source, facts_said in sorted(facts_by_source.items())]


def _known(source: str, facts: list[Fact], note: SourceNote) -> KnownSource:
    current = sum(fact.is_current for fact in facts)
    learned_at_us = note.at_us or max(fact.learned_at_us for fact in facts)
    vouches = any(vouched_by(source, facts))
    return KnownSource(source, vouches, current, len(facts) - current, learned_at_us, note.digest, note.left_out)


def _note_of(source: str, meta: Mapping[str, str]) -> SourceNote:
    note = meta.get(_key(source))
    return json_decoder(SourceNote)(note) if note else SourceNote()


def _key(source: str) -> str:
    return f"learned/{source_digest(source)}"
