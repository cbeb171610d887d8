"""A memory as a store of LangGraph: what is put under a key is learned as all that a source of this name says.

A value is {"text": …}. It comes back as the facts it became; `search` finds those that answer a query.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp

from hive_mind import Content, Fact, LearningAgent, Settings, open_agent


class MemoryStore(BaseStore):
    """For one event loop. Filters on fields, listing namespaces and times to live are nothing that a memory does."""

    def __init__(self, memory: LearningAgent) -> None:
        self._agent, self._memory = memory, memory.memory

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return [await self._do(op) for op in ops]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError("a memory belongs to an event loop: use aget, aput, asearch")

    async def _do(self, op: Op) -> Result:
        match op:
            case PutOp(namespace, key, None):
                await self._memory.withdraw("/".join((*namespace, key)))
            case PutOp(namespace, key, value):
                await self._agent.learn_from_content(Content(value["text"], "/".join((*namespace, key)), is_whole=True))
            case GetOp(namespace, key):
                source = "/".join((*namespace, key))
                facts = [fact for fact in await self._memory.get_all_facts() if source in fact.sources]
                return Item(**_item(source, *reversed(facts))) if facts else None
            case SearchOp(namespace_prefix=prefix, query=query, limit=limit, offset=offset):
                return (await self._search("/".join((*prefix, "")), query))[offset : offset + limit]
            case _:
                raise NotImplementedError(f"{type(op).__name__} is nothing that a memory does")
        return None

    async def _search(self, below: str, query: str | None) -> list[SearchItem]:
        hits = await self._memory.search_facts(query, 1_000) if query else []
        scored = [(hit.fact, hit.score) for hit in hits] if query else [(one, None) for one in await self._memory.get_all_facts()]
        found = ((next((one for one in fact.sources if one.startswith(below)), ""), fact, score) for fact, score in scored)
        return [SearchItem(**_item(source, fact), score=score) for source, fact, score in found if source]


def _item(source: str, *facts: Fact) -> dict[str, Any]:
    *namespace, key = source.split("/")
    when = datetime.fromtimestamp(facts[-1].learned_at_us / 1e6, UTC)
    value = {"text": " ".join(fact.content for fact in facts)}
    return {"namespace": tuple(namespace), "key": key, "value": value, "created_at": when, "updated_at": when}


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_agent(Settings(home=Path(home), embed="none"), "ada") as memory:
            await try_out(MemoryStore(memory))


async def try_out(store: MemoryStore) -> None:
    ines = ("users", "ines")
    await store.aput(ines, "work", {"text": "Ines keeps the spare seal in cupboard 12. Ines works in hall 3."})
    await store.aput(("users", "bo"), "work", {"text": "Bo repairs the crane."})
    print("got:", (await store.aget(ines, "work")).value)
    print("found:", [item.value["text"] for item in await store.asearch(("users",), query="Where is the seal?", limit=1)])
    await store.aput(ines, "work", {"text": "Ines works in hall 4."})
    print("now:", [item.value["text"] for item in await store.asearch(ines)])
    await store.adelete(ines, "work")
    print("left:", [item.key for item in await store.asearch(ines)])


asyncio.run(main())
