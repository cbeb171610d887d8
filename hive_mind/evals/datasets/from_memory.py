"""An agent's memory as a data set: its facts are the documents, and a question file gives the questions.

Where the agent runs it is asked for them, and in a hive they are those of all of it; else its record is read.

A document's id is its fact's, so the ids that `hive-mind facts` shows are those a question file names. Learned again, a document
becomes the same fact.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Protocol

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Corpus, Dataset, Document, LeftOut, Scope
from hive_mind.evals.datasets.files import read_text
from hive_mind.memory.transfer.examining import read_records
from hive_mind.model.fact import Fact, fact_of
from hive_mind.model.ids import canonical
from hive_mind.runtime.agent_files import is_kept
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import opened_store


class AgentCall(Protocol):
    """Puts a request of `api.requests` to an agent."""

    def __call__(self, what: str, /, **fields: object) -> Awaitable[Any]:
        """Its reply. Raises `HiveError`."""
        ...


@asynccontextmanager
async def running_agent(home: Path, agent: str) -> AsyncIterator[AgentCall | None]:
    """The agent, in the first fleet of this home that runs and has it; None where none does."""
    # Loaded where an agent is looked for: they bring what knows fleets, and data sets of files need none of it.
    from hive_mind.control.controller import HiveController
    from hive_mind.control.state import fleets

    for fleet in fleets(home):
        async with HiveController.open(home, fleet) as controller:
            status = await controller.status()
            process = next((agent_view.process for agent_view in status.agents if agent_view.name == agent), None)
            if process is not None and any(process_view.pid for process_view in status.processes if process_view.name == process):
                yield partial(controller.call, agent)
                return
    yield None


async def load_memory(settings: Settings, agent: str) -> Dataset:
    """The facts an agent of this home knows now. Raises `InvalidInput` for one that has learned nothing, and like opening a
    memory."""
    async with running_agent(settings.home, agent) as call:
        if call is not None:
            reply = await call("facts", limit=0)
            return facts_as_dataset(agent, map(fact_of, reply["facts"]))
    if not is_kept(settings, agent):
        raise InvalidInput(f"agent {agent!r} has learned nothing yet in {settings.home}: hive-mind learn PATH --agent {agent}")
    async with opened_store(settings, agent, is_reading=True) as store:
        return facts_as_dataset(agent, [fact async for batch in store.facts() for fact in batch])


def load_export(path: Path) -> Dataset:
    """The facts written by `hive-mind facts export`. Raises `InvalidInput`."""
    try:
        records = read_records(read_text(path).split("\n"))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    return facts_as_dataset(path.stem, records.facts)


def facts_as_dataset(name: str, facts: Iterable[Fact]) -> Dataset:
    """The facts a search may return, in the order in which they were learned, as one scope without questions."""
    left_out: Counter[str] = Counter()
    corpus = Corpus()
    for fact in sorted(facts, key=lambda fact: (fact.learned_at_us, fact.id)):
        if fact.is_current:
            corpus.take(_document(fact))
        else:
            left_out[LeftOut.RETRACTED_FACT if fact.is_retracted else LeftOut.SUPERSEDED_FACT] += 1
    left_out[LeftOut.SILENT_DOCUMENT] = len(corpus.silent)
    return Dataset(name, (Scope(name, tuple(corpus.documents.values()), ()),), dict(+left_out))


def _document(fact: Fact) -> Document:
    return Document(
        id=fact.id,
        text=_without_speaker(fact),
        source=fact.sources[0],
        said_at=fact.said_at,
        speaker=fact.speaker,
        section=fact.sources[0],
        before=fact.before,
        topic=fact.concept,
        kind=_kind_of(fact),
        meta={"confidence": repr(fact.confidence)},
    )


def _kind_of(fact: Fact) -> str:
    """The kind of its source: a conversation, a file by its ending, others by the name up to a slash."""
    if fact.speaker:
        return "chat"
    ending = PurePath(fact.sources[0]).suffix[1:].lower()
    return ending if ending.isalnum() else fact.sources[0].partition("/")[0]


def _without_speaker(fact: Fact) -> str:
    """The text alone: its speaker is a field of a document, and is put before its text when that is learned."""
    prefix = f"{canonical(fact.speaker)}: "
    content = fact.content.removeprefix(prefix)
    # A speaker that quotes itself would otherwise lose the quotation.
    return fact.content if content.startswith(prefix) else content
