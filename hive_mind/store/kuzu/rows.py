"""Facts, episodes, entities and vectors as rows, and back.

Plain functions without a database. Lists of texts are JSON in a text column and a vector is base64 of its float16 numbers:
half the bytes on disk and a third of the time of Kuzu's own lists. Values were checked before they come here.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Sharing
from hive_mind.store.base import Vector
from hive_mind.store.kuzu.schema import ENTITY, EPISODE, FACT

Row = dict[str, Any]

# Key order matters: rows of one batch must have the same keys in the same order.
_BLANK: Row = {
    "id": "",
    "kind": "",
    "seq": 0,
    "confidence": 0.0,
    "learned_at_us": 0,
    "content": "",
    "concept": "",
    "sources": "[]",
    "said_at": "",
    "speaker": "",
    "before": "",
    "entities": "[]",
    "labels": "[]",
    "sharing": "",
    "superseded_by": "",
    "title": "",
    "summary": "",
    "held_back": "",
    "offered": "[]",
}

MEMORY_COLUMNS = tuple(_BLANK)
META_COLUMNS = ("key", "seq", "model", "value")

FACT_COLUMNS = tuple(column for column in MEMORY_COLUMNS if column not in {"kind", "title", "summary"})
EPISODE_COLUMNS = ("id", "content", "sources", "said_at", "learned_at_us", "speaker", "title", "summary")

# What ReviseFact may change: all but the fact's identity and its place in the order.
REVISED_COLUMNS = tuple(column for column in FACT_COLUMNS if column not in {"id", "seq", "content"})

_texts_from = msgspec.json.Decoder(tuple[str, ...]).decode


def fact_row(fact: Fact) -> Row:
    """A fact as a row of `Memory`, without its place in the order."""
    return _BLANK | {
        "id": fact.id,
        "kind": FACT,
        "confidence": float(fact.confidence),
        "learned_at_us": fact.learned_at_us,
        "content": fact.content,
        "concept": fact.concept,
        "sources": _json(fact.sources),
        "said_at": fact.said_at,
        "speaker": fact.speaker,
        "before": fact.before,
        "entities": _json(fact.entities),
        "labels": _json(fact.labels),
        "sharing": fact.sharing.value,
        "superseded_by": fact.superseded_by,
        "held_back": fact.held_back,
        "offered": _json(fact.offered),
    }


def episode_row(episode: Episode) -> Row:
    """An episode as a row of `Memory`."""
    return _BLANK | {
        "id": episode.id,
        "kind": EPISODE,
        "learned_at_us": episode.learned_at_us,
        "content": episode.text,
        "sources": _json((episode.source,)),
        "said_at": episode.said_at,
        "speaker": episode.speaker,
        "title": episode.title,
        "summary": episode.summary,
    }


def entity_row(id: str, name: str) -> Row:
    """An entity as a row of `Memory`."""
    return _BLANK | {"id": id, "kind": ENTITY, "content": name}


def fact_of(values: Sequence[Any]) -> Fact:
    """The fact in a row of FACT_COLUMNS."""
    fact_id, _, confidence, learned_at_us, content, concept, sources, said_at, speaker, before, *rest = values
    entities, labels, sharing, superseded_by, held_back, offered = rest
    return Fact(
        id=fact_id,
        content=content,
        concept=concept,
        confidence=confidence,
        sources=_texts_from(sources),
        learned_at_us=learned_at_us,
        said_at=said_at,
        speaker=speaker,
        before=before,
        # Most facts have none of these: no decoder for an empty list.
        entities=() if entities == "[]" else _texts_from(entities),
        labels=() if labels == "[]" else _texts_from(labels),
        sharing=Sharing(sharing),
        superseded_by=superseded_by,
        held_back=held_back,
        offered=() if offered == "[]" else _texts_from(offered),
    )


def episode_of(values: Sequence[Any]) -> Episode:
    """The episode in a row of EPISODE_COLUMNS."""
    episode_id, text, sources, said_at, learned_at_us, speaker, title, summary = values
    return Episode(episode_id, text, _texts_from(sources)[0], said_at, learned_at_us, speaker, title, summary)


def vector_row(model: str, key: str, vector: Vector) -> Row:
    """A cached embedding as a row of `Meta`."""
    value = b64encode(vector.astype(np.float16).tobytes()).decode("ascii")
    return {"key": vector_row_key(model, key), "seq": 0, "model": model, "value": value}


def named_row(key: str, value: str) -> Row:
    """A named value as a row of `Meta`: no model."""
    return {"key": _named_prefix + key, "seq": 0, "model": "", "value": value}


def vector_row_key(model: str, key: str) -> str:
    """The primary key of an embedding. The length keeps ("a", "b:c") and ("a:b", "c") apart."""
    return f"vector:{len(model)}:{model}:{key}"


def vector_of(model: str, row_key: str, value: str) -> tuple[str, Vector]:
    """A vector's key and its numbers, from a row of `Meta`."""
    numbers = np.frombuffer(b64decode(value), dtype=np.float16).astype(np.float32)
    return row_key[len(vector_row_key(model, "")) :], numbers


def named_of(rows: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Named values from rows of key and value; the database's own rows are left out."""
    return {key[len(_named_prefix) :]: value for key, value in rows if key.startswith(_named_prefix)}


_named_prefix = "named:"


def _json(texts: Sequence[str]) -> str:
    return msgspec.json.encode(texts).decode() if texts else "[]"
