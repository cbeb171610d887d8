"""Putting an agent together: settings in, a memory or an agent out. The one place that knows every part.

A missing part that is not essential (an embedding model, an extra) is skipped, with one line in the log.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hive_mind import backends
from hive_mind.agents.agent import LearningAgent
from hive_mind.awaiting import opening
from hive_mind.cognition import Reader
from hive_mind.cognition.answering.calibration import LEAST_ODDS
from hive_mind.embed import Embedder
from hive_mind.errors import BackendError, BackendNotInstalled, ConfigError, DatabaseLocked, InvalidInput
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.opening import NewVectorArm, OpenStore
from hive_mind.memory.transfer.importing import Unindexed
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.fact import Fact
from hive_mind.model.query import Answering
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.vector import VectorArm
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL, Settings, database_path, is_kept, ledger_path, secret
from hive_mind.store import FactStore

if TYPE_CHECKING:
    from hive_mind.cognition.budget import Budget
    from hive_mind.store.graph import Graph, Report

_log = logging.getLogger(__name__)

_LOCK_POLL_S = 0.1

IsReading = bool | Callable[[], bool]


def kept_facts(settings: Settings, agent: str) -> list[Fact]:
    """The facts in an agent's record at this moment, also while another process uses the agent; none where there is no record.

    Raises `DatabaseUnreadable` or `BackendError`.
    """
    path = database_path(settings, agent)
    return cast(list[Fact], backends.load("store", "sqlite").facts_in(path)) if path.exists() else []


async def open_ledger(settings: Settings, agent: str, *, is_shared: bool = False) -> Ledger:
    """An agent's ledger, made where there is none; shared by the commands of people, not by a worker. Raises like opening it."""
    return cast(Ledger, await backends.load("ledger", "sqlite").open(ledger_path(settings, agent), is_shared))


async def shared_ledger(settings: Settings, agent: str) -> Ledger:
    """The ledger of a worker's agent, beside which people decide; where nothing is kept on disk, one in memory."""
    if settings.store == "memory":
        return cast(Ledger, await backends.load("ledger", "memory").open())
    return await open_ledger(settings, agent, is_shared=True)


@opening
async def open_memory(
    settings: Settings, agent: str, ranking: RankingSettings | None = None, *, is_reading: IsReading = False
) -> CognitiveMemory:
    """An agent's memory; its database is opened at the first use, or by `async with`. Raises `ConfigError`.

    `is_reading`: it is as it was when it was opened, and takes nothing in; others may have it open meanwhile. Where it is a
    function, each waking asks it.
    """
    # An unknown name or back end is reported before a model is loaded, which takes seconds.
    opener, arms = _store_opener(settings, agent, is_reading=is_reading), vector_arms(settings)
    return CognitiveMemory(opener, await open_embedder(settings), ranking=ranking, new_arm=arms, store_id=agent)


@asynccontextmanager
async def opened_store(settings: Settings, agent: str, *, is_reading: IsReading = False) -> AsyncIterator[FactStore]:
    """An agent's database without a memory over it; `is_reading` as of `open_memory`.

    Raises `ConfigError`, and like opening a memory.
    """
    store = await _store_opener(settings, agent, is_reading=is_reading)()
    try:
        yield store
    finally:
        await store.close()


@opening
async def open_graph(settings: Settings, agent: str, report: "Report | None" = None) -> "Graph":
    """The graph of an agent's memory, to explore, also while another process uses the agent; `report` as `Graph` has it.

    Raises `InvalidInput` where the agent has learned nothing yet.
    """
    from hive_mind.store.graph import Graph

    if not is_kept(settings, agent):
        raise InvalidInput(f"agent {agent!r} has learned nothing yet in {settings.home}: there is no graph to explore")
    record = database_path(settings, agent)
    if not record.exists():
        # It was being replaced: opening it finishes that.
        async with opened_store(settings, agent):
            pass
    return Graph(record, report=report)


@asynccontextmanager
async def unindexed(settings: Settings, agent: str) -> AsyncIterator[Unindexed]:
    """An agent's database to take facts in, without an index of them. Raises `ConfigError`, and like opening a memory."""
    # An unknown name or back end is reported before a model is loaded, which takes seconds.
    opener = _store_opener(settings, agent)
    vectors = VectorSource(await open_embedder(settings))
    try:
        store = await opener()
        try:
            yield Unindexed(store, vectors, await store.meta())
        finally:
            await store.close()
    finally:
        await vectors.close()


def memory_with(settings: Settings, agent: str, embedder: Embedder, ranking: RankingSettings | None = None) -> CognitiveMemory:
    """An agent's memory over an embedder that is open already; the memory closes it. Raises `ConfigError`."""
    opener, arms = _store_opener(settings, agent), vector_arms(settings)
    return CognitiveMemory(opener, embedder, ranking=ranking, new_arm=arms, store_id=agent)


@opening
async def open_agent(
    settings: Settings, agent: str, ranking: RankingSettings | None = None, *, is_reading: IsReading = False
) -> LearningAgent:
    """An agent by its name, with the memory and the reader the settings say; `is_reading` as of `open_memory`.

    Raises `ConfigError`.
    Where the language model has no key or its client is not installed, only learning raises: questions are answered by quotation.
    """
    quoting = quoting_reader(settings)
    if not settings.llm:
        return LearningAgent(agent, await open_memory(settings, agent, ranking, is_reading=is_reading), quoting)
    from hive_mind.cognition.budget import Budget

    model: LanguageModel | ConfigError
    budget, release = Budget(settings.token_budget), None
    try:
        model = await open_model(settings)
    except InvalidInput:
        raise
    except ConfigError as error:
        model = error
    else:
        release = partial(_release, model, budget)
    memory = await open_memory(settings, agent, ranking, is_reading=is_reading)
    asking = asking_reader(settings, model, budget, memory)
    return LearningAgent(agent, memory, asking, release=release, reads_freely=False)


def asking_reader(
    settings: Settings, model: LanguageModel | ConfigError, budget: "Budget", memory: CognitiveMemory, instructions: str = ""
) -> Reader:
    """The reader with a model, or with why there is none, which answers by quotation then; it words the memory's questions."""
    # Only an agent with a language model needs what asks one: it loads what reads texts and words answers.
    from hive_mind.cognition.prompted import PromptedReader, PromptedSettings, QuotingInstead

    prompted = PromptedSettings(instructions=instructions, retry=settings.llm_retry)
    asking = model if isinstance(model, ConfigError) else PromptedReader(model, budget, prompted)
    memory.refining.expander = reader = QuotingInstead(asking, quoting_reader(settings))
    return reader


def quoting_reader(settings: Settings) -> Reader:
    """The reader without a model, as readily as the settings say. Raises `InvalidInput`."""
    if settings.answering not in LEAST_ODDS:
        raise InvalidInput(f"HIVE_MIND_ANSWERING is {', '.join(LEAST_ODDS)}, not {settings.answering[:40]!r}")

    return cast(Reader, LateReader(cast(Answering, settings.answering)))


@dataclass
class LateReader:
    """A reader that is loaded when it is first used: a command that lists facts reads nothing and words no answer."""

    _answering: Answering

    def __getattr__(self, name: str) -> Any:
        from hive_mind.cognition.answering.quoting import QuotingSettings
        from hive_mind.cognition.extractive import ExtractiveReader

        reader = ExtractiveReader(quoting=QuotingSettings(answering=self._answering))
        self.extract, self.summarise, self.synthesise = reader.extract, reader.summarise, reader.synthesise
        return getattr(reader, name)


@opening
async def open_embedder(settings: Settings, key: str = "") -> Embedder:
    """The embedder of the settings, or the one that embeds nothing where that can't be had, after one line that says so.

    Without a `key` an endpoint gets the secret "EMBED_KEY".
    """
    try:
        module = backends.load("embed", settings.embed)
        match settings.embed:
            case "none":
                opened = await module.open()
            case "openai":
                # The default model is one to run here; an endpoint has its own.
                model = module.DEFAULT_MODEL if settings.embed_model == DEFAULT_EMBEDDING_MODEL else settings.embed_model
                opened = await module.open(model, settings.embed_url or module.DEFAULT_URL, key or secret("EMBED_KEY"))
            case _:
                opened = await module.open(settings.embed_model)
        return cast(Embedder, opened)
    except (BackendNotInstalled, BackendError) as error:
        _log.warning("keyword search only: %s", error)
        return cast(Embedder, await backends.load("embed", "none").open())


def model_modules(settings: Settings) -> tuple[str, ...]:
    """Modules that take seconds to load where the language model of the settings is opened; none for one that is scripted."""
    return ("hive_mind.llm.providers",) if settings.llm and not settings.llm.startswith("scripted") else ()


async def open_model(settings: Settings, key: str = "") -> LanguageModel:
    """The language model of the settings; without a `key` it gets the secret "LLM_KEY". Raises `ConfigError`."""
    if settings.llm.startswith("scripted"):
        return cast(LanguageModel, await backends.load("llm", "scripted").open(settings.llm))
    providers = backends.load("llm", "providers")
    opened = await providers.open(
        settings.llm, base_url=settings.llm_url, api_key=key or secret("LLM_KEY"), timeout_s=settings.llm_timeout_s
    )
    return cast(LanguageModel, opened)


async def _release(model: LanguageModel, budget: "Budget") -> None:
    """Close the model and log what it cost; runs log their own cost."""
    await model.close()
    spent = budget.spent
    if spent.calls:
        _log.info("%s: %d calls, %d of %d tokens spent", model.name, spent.calls, spent.tokens, budget.max_tokens)


def _store_opener(settings: Settings, agent: str, *, is_reading: IsReading = False) -> OpenStore:
    store, path = backends.load("store", settings.store), database_path(settings, agent)

    async def opened() -> FactStore:
        """Where another process has it, after waiting for as long as the settings say. Raises like opening it."""
        deadline, is_noted = time.monotonic() + settings.lock_wait_s, False
        while True:
            to_read = is_reading() if callable(is_reading) else is_reading
            try:
                return cast(FactStore, await (store.open_for_reading if to_read else store.open)(path))
            except DatabaseLocked as error:
                if time.monotonic() >= deadline:
                    raise
                if not is_noted:
                    is_noted, holder = True, f"process {error.holder_pid}" if error.holder_pid else "another process"
                    wait_s = settings.lock_wait_s
                    _log.info("%s has this memory open to write: waiting for it to be done, %d s at most", holder, wait_s)
            await asyncio.sleep(_LOCK_POLL_S)

    return opened


def vector_arms(settings: Settings) -> NewVectorArm:
    """How vector indexes are made. Raises `ConfigError` for one that was asked for by name and is not installed.

    The default is loaded when the first is made: a process that embeds nothing needs none.
    """
    if settings.ann != Settings().ann:
        return cast(NewVectorArm, backends.load("ann", settings.ann).open)

    def new_arm(dimension: int) -> VectorArm:
        try:
            arms = backends.load("ann", settings.ann)
        except BackendNotInstalled:
            # The same results, slower: nothing a person must know.
            arms = backends.load("ann", "exact")
        return cast(VectorArm, arms.open(dimension))

    return new_arm
