"""Laws of a collection: a filter is the same as having nothing else, and an index is the same however it came about."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.retrieval.searching import QueryResult
from tests.chance import examples
from tests.unit.retrieval.collections_of import config, index_of, write

WORDS = "red blue pump door tank valve D40 D41 INC-2024-001 leaks open shut the of".split()
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
BODY = st.lists(TEXT, min_size=1, max_size=3).map(lambda parts: "\n".join(f"## {n % 2}\n{text}." for n, text in enumerate(parts)))
NAMES = [f"{folder}/{number}.md" for folder in "abc" for number in range(4)]
DOCUMENTS = st.dictionaries(st.sampled_from(NAMES), BODY, min_size=1, max_size=10)
QUERY = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
PARTS: list[dict[str, Any]] = [
    {"method": "keyword"},
    {"method": "vector"},
    {"method": "hybrid"},
    {"fusion": "rrf", "deduplicate": "none", "depth": 3},
    {"adaptive": "both", "deduplicate": "document", "boosts": {"recency": 0.2, "confirmations": 0.2, "trust": 0.1}},
    {"distraction_detection": {"enabled": True, "signal": "coverage", "action": "demote"}, "dynamic_k": {"enabled": True}},
    {"distraction_detection": {"enabled": True, "signal": "margin", "action": "drop"}, "diversity": {"enabled": True}},
]


def told(found: QueryResult) -> list[object]:
    """All that a search says, but for last bits and for how many there were to choose from."""
    figures = [(one.chunk_id, round(one.score, 6), round(one.keyword, 5), one.disagreement) for one in found.results]
    places = [(one.keyword_rank, one.vector_rank, one.flags) for one in found.results]
    return [figures, places, found.scored, found.cut_at, found.why_cut, found.duplicates]


async def asked(documents: dict[str, str], query: str, parts: dict[str, Any], **filters: list[str]) -> QueryResult:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), documents)
        async with index_of(Path(folder)) as index:
            return await index.search(query, config(**parts, filters=filters))


@pytest.mark.parametrize("parts", PARTS, ids=str)
@settings(max_examples=examples() // 4)
@given(DOCUMENTS, QUERY, st.sets(st.sampled_from("abc"), min_size=1))
def test_a_filtered_search_is_a_search_of_a_collection_that_has_nothing_else(parts, documents, query: str, chosen: set[str]):
    rest = {name: text for name, text in documents.items() if name[0] in chosen}
    filtered = asyncio.run(asked(documents, query, parts, category=sorted(chosen)))
    alone = asyncio.run(asked(rest, query, parts))
    assert told(filtered) == told(alone)
    assert filtered.filtered_to is not None


@settings(max_examples=examples() // 2)
@given(st.lists(DOCUMENTS, min_size=2, max_size=4), st.lists(QUERY, min_size=1, max_size=3), st.sampled_from(PARTS))
def test_an_index_that_followed_its_folder_is_one_made_from_nothing(versions, queries: list[str], parts):
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), {})
            async with index_of(Path(folder)) as index:
                for documents in versions:
                    shutil.rmtree(Path(folder) / "documents")
                    write(Path(folder), documents)
                    await index.update()
                    # Once asked, it is in RAM and has to follow there too.
                    grown = [told(await index.search(query, config(**parts))) for query in queries]
                facets, counts = index.facets(), index.counts()
            async with index_of(Path(folder), is_updated=False) as later:
                assert [told(await later.search(query, config(**parts))) for query in queries] == grown
            shutil.rmtree(Path(folder) / "index")
            async with index_of(Path(folder)) as fresh:
                assert [told(await fresh.search(query, config(**parts))) for query in queries] == grown
                assert (fresh.facets(), fresh.counts()) == (facets, counts)

    asyncio.run(run())
