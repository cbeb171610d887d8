"""Embedding a whole memory again, with another model or for facts that were kept without a vector.

Vectors are written batch by batch under the new model's name and the record of the model is switched last, so a run that is
interrupted loses nothing and goes on where it stopped.
"""

from collections.abc import Callable

from hive_mind.errors import InvalidInput
from hive_mind.memory.opening import Awake, record, usable
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.ids import vector_key
from hive_mind.ranking.form import texts_to_embed
from hive_mind.store.base import Change, DropVectors, SetMeta

_BATCH_TEXTS = 64
# The model a run has begun with: if the next run takes yet another, the vectors of this one are of no use to anybody.
_BEGUN_KEY = "embedding.begun"

Progress = Callable[[int, int], None]


async def reembed(awake: Awake, vectors: VectorSource, progress: Progress | None = None) -> int:
    """Make every text's vector be that of the model at hand. Raises `InvalidInput` without one, `BackendError` when it fails."""
    if not vectors.is_on:
        raise InvalidInput("there is no embedding model to embed with: `hive-mind doctor` says how to get one")
    progress = progress or (lambda _done, _total: None)
    former_model = (await awake.store.meta()).get(_BEGUN_KEY, "")
    await awake.store.write([*_dropped({former_model} - {awake.recorded, vectors.model}), SetMeta(_BEGUN_KEY, vectors.model)])
    cached = {key async for batch in awake.store.vectors(vectors.model) for key in usable(batch, vectors.dimension)}
    texts = dict.fromkeys(text for fact in awake.recall.facts.values() for text in texts_to_embed(fact))
    missing = [text for text in texts if vector_key(vectors.model, text) not in cached]
    for start in range(0, len(missing), _BATCH_TEXTS):
        progress(start, len(missing))
        await awake.store.write(await vectors.of_texts(missing[start : start + _BATCH_TEXTS]))
    await awake.store.write([*record(vectors), SetMeta(_BEGUN_KEY, ""), *_dropped({awake.recorded} - {vectors.model})])
    awake.recorded = vectors.model
    progress(len(missing), len(missing))
    return len(missing)


def _dropped(models: set[str]) -> list[Change]:
    return [DropVectors(model) for model in models if model]
