"""Waking a memory: open its store, rebuild its index, and find out whether its vectors are those of the model at hand.

A database remembers which model embedded it. Opened with another one it answers by keywords and says so, and nothing is mixed:
vectors of two models can't be compared. To embed all of it again, vectors are written batch by batch under the new model's name
and the record of the model is switched last, so a run that is interrupted loses nothing and goes on where it stopped.

It remembers requests, too, that it carried out under a key: put again, they are not carried out twice.

Turns in it: writes are planned on what is known, made durable, and only then shown to searches. Two that touch the same fact
follow one another; others run together, so a store can commit them as a group. A caller that is cancelled (Ctrl-C) does not tear
its write apart: it is finished all the same, and so is a database that is opened or closed.

One event loop at a time: a waiter in one loop can't be woken by another, so a call from another loop is refused with an error
instead of waiting for ever. A memory that sleeps, and is not in use, belongs to the next caller.
"""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from hive_mind.api.request import Progress
from hive_mind.errors import InvalidInput
from hive_mind.memory.erasing import erasures_in
from hive_mind.memory.recall import KnownFacts, Recall
from hive_mind.memory.reranking import of_this_process
from hive_mind.memory.vectors import Vector, VectorSource
from hive_mind.model.erasure import Erasures
from hive_mind.model.ids import vector_key
from hive_mind.model.query import Query
from hive_mind.ranking.form import KnownTerms, texts_to_embed, weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.vector import VectorArm
from hive_mind.store import Change, DropVectors, FactStore, Narrow, SetMeta

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class PlannedCommit(Generic[Outcome]):
    """Changes to write, and the step in RAM once they are durable. `apply` must not fail."""

    changes: Sequence[Change]
    apply: Callable[[], Outcome]


@dataclass(slots=True)
class Commits:
    """Runs plans in order per fact."""

    _busy: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    _running: set[asyncio.Task[object]] = field(default_factory=set)

    async def run(self, store: FactStore, fact_ids: Iterable[str], make_plan: Callable[[], PlannedCommit[Outcome]]) -> Outcome:
        """Wait until nothing else writes these facts, plan, write, apply. Raises what planning or the store raises."""
        ids = list(fact_ids)
        while waiting := {task for fact_id in ids if (task := self._busy.get(fact_id)) is not None}:
            await asyncio.wait(waiting)
        # From here to the registration nothing may be awaited, or two plans could see the same state.
        plan = make_plan()
        task = asyncio.create_task(self._write(store, plan))
        self._running.add(task)
        self._busy.update(dict.fromkeys(ids, task))

        def forget(task: "asyncio.Task[Outcome]") -> None:
            self._running.discard(task)
            for fact_id in ids:
                if self._busy.get(fact_id) is task:
                    del self._busy[fact_id]
            if not task.cancelled():
                task.exception()  # A caller that was cancelled will not look at it.

        task.add_done_callback(forget)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Return when nothing is under way any more."""
        while self._running:
            await asyncio.wait(self._running)

    async def _write(self, store: FactStore, plan: PlannedCommit[Outcome]) -> Outcome:
        if plan.changes:
            await store.write(plan.changes)
        return plan.apply()


@dataclass(slots=True)
class OneLoop:
    """Admits calls from one loop. `_is_asleep` tells whether there is nothing that another loop could not use."""

    _is_asleep: Callable[[], bool]
    # A waiter on one of these has bound it to a loop: each loop has its own.
    waking: asyncio.Lock = field(init=False)
    is_idle: asyncio.Event = field(init=False)
    users: int = 0
    """calls that need it awake: `is_idle` waits for them"""
    _turn: Any = field(default_factory=Lock)
    _calls: int = 0
    _loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def call(self) -> Iterator[None]:
        """As long as a call lasts. Raises `InvalidInput` for one in another thread, or in a second `asyncio.run`."""
        self.enter()
        try:
            yield
        finally:
            with self._turn:
                self._calls -= 1

    def enter(self) -> None:
        """Begin a call that never ends: from now on the memory belongs here. Raises `InvalidInput` as `call` does."""
        loop = asyncio.get_running_loop()
        with self._turn:
            if loop is not self._loop:
                if self._calls or not self._is_asleep():
                    raise InvalidInput(
                        "this memory is open in another event loop: use and close it in the asyncio.run, and the thread, that"
                        " opened it"
                    )
                self._loop, self.waking, self.is_idle = loop, asyncio.Lock(), asyncio.Event()
                self.is_idle.set()
            self._calls += 1


class Transition:
    """Opening or closing a database, never half done: a caller that gives up waiting leaves it to go on, and the next waits for
    it.

    Otherwise a search that ran into its deadline would leave a database that is just being closed, and locked, to the next one.
    """

    _under_way: asyncio.Task[None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether it goes on, waited for or not."""
        return self._under_way is not None and not self._under_way.done()

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it. Call `finish` first, and decide then what there is to do."""
        self._under_way = asyncio.create_task(work)
        # Its error is for the waiting caller; if none waits any more, the next one tries again.
        self._under_way.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._under_way)

    async def finish(self) -> None:
        """Return when nothing is under way any more. Others have their turn in any case: also between thousands of searches."""
        # One of a loop before this is over: a memory is asleep where its loop is another one.
        if self._under_way is not None and self.is_under_way and self._under_way.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._under_way])
        else:
            await asyncio.sleep(0)


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


_log = logging.getLogger(__name__)

MODEL_KEY, DIMENSION_KEY = "embedding.model", "embedding.dimension"

# Terms are sealed again when more facts than these, and than this share, were tokenized since.
_TOKENIZED_MIN, _TOKENIZED_SHARE = 100, 0.1

OpenStore = Callable[[], Awaitable[FactStore]]
NewVectorArm = Callable[[int], VectorArm]


@dataclass(slots=True)
class Awake:
    """An open store and what is in RAM. `recorded` is the model the database was embedded with, "" for none yet.

    `erasures` are what it refuses to keep; `done` are requests that it need not carry out again.
    """

    store: FactStore
    recall: Recall
    recorded: str
    erasures: Erasures
    done: RequestsDone


def may_embed(recorded: str, vectors: VectorSource) -> bool:
    """Whether vectors of the model at hand may stand in a database that was embedded with the `recorded` one, "" for none."""
    return vectors.is_on and recorded in ("", vectors.model)


async def vector_for(query: Query, recorded: str, vectors: VectorSource) -> Vector | None:
    """A query's vector, or None where keywords have to do.

    For a query by meaning alone they never do: it raises `InvalidInput` where there are no vectors to compare it with, and
    `BackendError` where the model fails.
    """
    if may_embed(recorded, vectors):
        by_method = {"vector": vectors.surely_of_query, "hybrid": vectors.of_query}
        return await by_method[query.method](query.text) if query.method in by_method else None
    if query.method == "vector":
        lacking = "this memory is open without a model: choose one with --embed or HIVE_MIND_EMBED"
        if vectors.is_on:
            lacking = (
                f"this memory has those of {recorded!r} and is open with {vectors.model!r}: hive-mind reembed changes it over"
            )
        raise InvalidInput(f"method 'vector' needs embeddings, and {lacking}; or take method 'keyword' or 'hybrid'")
    return None


async def wake(open_store: OpenStore, vectors: VectorSource, new_arm: NewVectorArm, settings: RankingSettings) -> Awake:
    """Open and load. Raises what opening the store raises; a store that was opened is closed again."""
    store = await open_store()
    try:
        meta = await store.meta()
        recall = Recall(lambda: new_arm(vectors.dimension) if vectors.is_on else None, settings, KnownFacts(store.fetch))
        awake = Awake(store, recall, meta.get(MODEL_KEY, ""), erasures_in(meta), RequestsDone(meta))
        await _load(awake, vectors)
        if settings.rerank:
            # Seconds, which no question should take.
            await of_this_process().load(settings.rerank_model)
    except BaseException:
        await store.close()
        raise
    if vectors.is_on:
        warn_other_model(awake.recorded, vectors)
        if may_embed(awake.recorded, vectors) and (missing := awake.recall.vectors_missing):
            _log.warning("%d facts have no embedding and are found by keywords only; to embed them: hive-mind reembed", missing)
    return awake


async def fall_asleep(awake: Awake) -> None:
    """Leave the terms of the facts behind for the next time, if many had to be made; let go of everything."""
    recall = awake.recall
    # The index goes before the store is closed, which gives what is free back to the system.
    del awake.recall
    try:
        if recall.tokenized > _TOKENIZED_MIN and recall.tokenized > len(recall.current) * _TOKENIZED_SHARE:
            await awake.store.put_aside(recall.sealed())
    finally:
        del recall
        await awake.store.close()


def record(vectors: VectorSource) -> tuple[SetMeta, ...]:
    """The changes that make a database remember its model."""
    return SetMeta(MODEL_KEY, vectors.model), SetMeta(DIMENSION_KEY, str(vectors.dimension))


async def _load(awake: Awake, vectors: VectorSource) -> None:
    """Without garbage collections, which would look at all of it again and again, and find nothing: a tenth of the time."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        cached = await _cached(awake, vectors)
        if cached:
            awake.recall.current.reserve(len(cached))
        if facts := [fact async for batch in awake.store.facts() for fact in batch]:
            terms = KnownTerms(await awake.store.aside())
            for _ in awake.recall.load(facts, vectors.mixed_all(facts, cached) if cached else {}, terms):
                await asyncio.sleep(0)
    finally:
        if is_on:
            gc.enable()


async def look_back(awake: Awake, vectors: VectorSource) -> None:
    """Let questions about a time before find what was retracted since: it is in no index until somebody asks one."""
    recall = awake.recall
    if recall.taken_back is not None:
        return
    cached = await _cached(awake, vectors)
    # From here on nothing may be awaited, or what is retracted meanwhile would be missed.
    facts = (recall.facts[id] for id in list(recall.facts.ids()))
    gone_facts = [fact for fact in facts if fact.is_retracted]
    index, vectors_gone = FactIndex(recall.new_arm()), vectors.mixed_all(gone_facts, cached) if cached else {}
    for fact in gone_facts:
        index.add(fact.id, weighted_terms(fact))
    index.set_vectors({fact.id: vectors_gone[fact.id] for fact in gone_facts if fact.id in vectors_gone})
    recall.taken_back = index


async def _cached(awake: Awake, vectors: VectorSource) -> dict[str, Narrow]:
    vectors_cached: dict[str, Narrow] = {}
    if vectors.is_on and awake.recorded == vectors.model:
        async for vector in awake.store.vectors(vectors.model):
            vectors_cached.update(usable(vector, vectors.dimension))
    return vectors_cached


def usable(vectors: Mapping[str, Narrow], dimension: int) -> Mapping[str, Narrow]:
    """Vectors of the model's length: a model of the same name may have been replaced by another."""
    return {key: vector for key, vector in vectors.items() if vector.shape == (dimension,)}


def warn_other_model(recorded: str, vectors: VectorSource) -> None:
    """One line where there is a model with vectors that can't stand beside those that are there."""
    if vectors.is_on and not may_embed(recorded, vectors):
        _log.warning(
            "this memory was embedded with %r and is opened with %r: keyword search only. "
            "Open it with the first, or change it over with: hive-mind reembed",
            recorded,
            vectors.model,
        )


_BATCH_TEXTS = 64
# The model a run has begun with: if the next run takes yet another, the vectors of this one are of no use to anybody. It stays
# until a hive has heard of them.
_BEGUN_KEY = "embedding.begun"


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
    await awake.store.write([*record(vectors), *_dropped({awake.recorded} - {vectors.model})])
    awake.recorded = vectors.model
    progress(len(missing), len(missing))
    return len(missing)


async def has_news(awake: Awake) -> bool:
    """Whether it was embedded again since `told`: a hive has the vectors from before."""
    return awake.recorded != "" and (await awake.store.meta()).get(_BEGUN_KEY) == awake.recorded


async def told(awake: Awake) -> None:
    """Remember that the hive has heard of its vectors, or will."""
    await awake.store.write([SetMeta(_BEGUN_KEY, "")])


def _dropped(models: set[str]) -> list[Change]:
    return [DropVectors(model) for model in models if model]
