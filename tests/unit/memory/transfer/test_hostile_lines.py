"""Nothing in a file is believed: lines that are wrong, huge or malicious, each refused with a word that helps."""

import json
import time

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.memory.transfer import read_records
from hive_mind.model.fact import Sharing
from hive_mind.model.ids import episode_id, fact_id
from tests.builders import Home, lines_of

FACT = {"type": "fact", "content": "The pump is red.", "confidence": 0.8, "sources": ["ines"], "learned_at_us": 5}
EPISODE = {"type": "episode", "text": "Red pump.", "source": "ines", "learned_at_us": 5}


def line(**fields: object) -> str:
    return json.dumps(FACT | fields)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (line(id="0" * 32), "leave it out"),
        (json.dumps(EPISODE | {"id": "0" * 32}), "leave it out"),
        (line(unheard_of=1), "unknown field"),
        (line(confidence=8100), "confidence"),
        (line(confidence="0.8"), "confidence"),
        ('{"type": "fact", "content": "x", "confidence": NaN, "sources": ["a"], "learned_at_us": 5}', "malformed"),
        (line(content="🐝 …"), "words"),
        (line(content=""), "content"),
        (line(content="x" * 20_001), "content"),
        (line(content="x" * 50_000_000), "content"),
        (line(sources=[]), "sources"),
        (line(sources=[""]), "sources"),
        (line(learned_at_us=-1), "learned_at_us"),
        (line(learned_at_us=1e300), "learned_at_us"),
        (line(sharing="everywhere"), "sharing"),
        (line(said_at="soon"), "said_at"),
        (line(said_at="2023-02-30"), "said_at"),
        (line(superseded_by="newer"), "superseded_by"),
        (line(type="virus"), "virus"),
        ('{"type": "fact"}', "missing required field"),
        ("[]", "object"),
        ("[" * 100_000, "object"),
        ('{"a": ' + "[" * 100_000, "recursion"),
        ('{"type": "fact", "content": ' + '{"a":' * 100_000, "content"),
        (line().replace("The pump", "\\ud800"), "surrogate"),
        ('"half \ud800 a pair"', "surrogate"),
        ("'; MATCH (m) DETACH DELETE m; //", "malformed"),
        (json.dumps({"type": "link", "relation": "OWNS", "from_id": "0" * 32, "to_id": "0" * 32}), "OWNS"),
        (json.dumps({"type": "link", "relation": "SUPERSEDES", "from_id": "x", "to_id": "y"}), "id"),
    ],
    ids=lambda value: ascii(value)[:50],
)
async def test_a_bad_line_is_named_and_nothing_is_taken_in(bad: str, word: str):
    async with Home().memory() as memory:
        with pytest.raises(InvalidInput, match="line 3: ") as refused:
            await memory.import_lines([line(), "", bad])

        assert word.lower() in str(refused.value).lower()
        assert len(str(refused.value)) < 1_000
        assert await lines_of(memory) == []


def test_a_long_name_in_a_line_makes_no_long_message_and_of_many_bad_lines_the_first_are_named_and_the_others_counted():
    with pytest.raises(InvalidInput) as refused:
        read_records([json.dumps(FACT | {"k" * 1_000_000: 1})])
    assert len(str(refused.value)) < 1_000

    with pytest.raises(InvalidInput, match=r"(?s)line 10:(?!.*line 11:).*990 more"):
        read_records(["{"] * 1_000)


@pytest.mark.parametrize(
    "dangling",
    [
        line(superseded_by=fact_id("Nobody holds this.")),
        json.dumps({"type": "link", "relation": "DERIVES_FROM", "from_id": fact_id(FACT["content"]), "to_id": "0" * 32}),
    ],
)
def test_what_is_named_must_be_held(dangling: str):
    with pytest.raises(InvalidInput, match="is named and not held by any line"):
        read_records([line(), dangling])


async def test_facts_that_supersede_one_another_in_a_circle_are_kept_and_hang_nothing():
    red, blue = "The pump is red.", "The pump is blue."
    circle = [line(content=red, superseded_by=fact_id(blue)), line(content=blue, superseded_by=fact_id(red))]
    itself = line(content="The pump is green.", superseded_by=fact_id("The pump is green."))

    async with Home().memory() as memory:
        await memory.import_lines([*circle, itself])

        assert await memory.search_facts("pump") == []
        assert (await memory.get_statistics()).superseded == 3


async def test_the_same_line_twice_is_one_fact_and_sources_are_told_once():
    async with Home().memory() as memory:
        assert (
            await memory.import_lines(
                [line(sources=["a", "b", "a"])] * 3 + [line(sources=["b", "c"], content="  The pump is red.")]
            )
            == 4
        )

        (kept,) = await memory.get_all_facts()
        assert kept.sources == ("a", "b", "c")


def test_how_far_a_fact_had_gone_elsewhere_is_not_believed_but_that_it_was_taken_back_is():
    for claimed in Sharing:
        (kept,) = read_records([line(sharing=claimed)]).facts
        assert kept.sharing is (Sharing.RETRACTED if claimed is Sharing.RETRACTED else Sharing.PRIVATE)


async def test_what_another_memory_took_back_confirms_nothing_here():
    async with Home().memory() as memory:
        await memory.store_fact("pump", "The pump is red.", source="ines")
        before = await memory.get_all_facts()
        await memory.import_lines([line(sources=["otto"], sharing="retracted")])
        assert await memory.get_all_facts() == before

        await memory.retract_fact(before[0].id)
        await memory.import_lines([line(sources=["otto"], sharing="retracted")])
        await memory.store_fact("pump", "The pump is red.", source="ines")
        assert await memory.get_all_facts() == []


def test_ids_are_computed_where_they_are_left_out():
    records = read_records([line(), json.dumps(EPISODE)])

    assert records.facts[0].id == fact_id("The pump is red.")
    assert records.changes[0].episode.id == episode_id("Red pump.", "ines")


def test_many_lines_are_read_in_time():
    lines = [line(content=f"Pump {n} is red.") for n in range(5_000)]
    started = time.process_time()

    assert len(read_records(lines).facts) == 5_000
    assert time.process_time() - started < 1.5


async def test_an_episode_of_any_length_goes_out_and_in():
    async with Home().memory() as memory, Home().memory() as copy:
        await memory.import_lines([json.dumps(EPISODE | {"text": "long " * 500_000})])
        await copy.import_lines(await lines_of(memory))
        assert await lines_of(copy) == await lines_of(memory)
