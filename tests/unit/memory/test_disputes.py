"""Facts that contradict each other are shown as such, with what speaks for each of them."""

from dataclasses import replace

import pytest

from hive_mind.cognition.answering.quoting import QuotingSettings, quoted_answer
from hive_mind.memory.disputes import dispute_text, disputed, with_rivals
from hive_mind.model.fact import Sharing
from hive_mind.model.gathered import Question
from hive_mind.model.query import ComponentScores, Hit
from tests.builders import FIRST_US, Home, fact

OLD, NEW = "The gateway listens on port 8443.", "The gateway listens on port 9443."

GONE = ((7000, {"superseded_by": "x"}), (7001, {"sharing": Sharing.RETRACTED}))


def hit(content: str, sources: int = 1, later_us: int = 0, **fields: str) -> Hit:
    names = tuple(f"source {n}" for n in range(sources))
    told = fact(content, concept="gateway", sources=names, learned_at_us=FIRST_US + later_us, **fields)
    return Hit(told, 0.9, ComponentScores(1.0, None, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        (hit(OLD), hit(NEW, 3, 1), "is newer and better supported (3 sources against 1)"),
        (hit(OLD, 3, 1), hit(NEW), "is older and less supported (1 source against 3)"),
        (hit(OLD, 2), hit(NEW, 1, 1), "is newer but less supported (1 source against 2)"),
        (hit(OLD, 1, 1), hit(NEW, 2), "is older but better supported (2 sources against 1)"),
        (hit(OLD), hit(NEW, 1, 1), "is newer and as well supported (1 source each)"),
        (
            hit(OLD, said_at="2024-05"),
            hit(NEW, later_us=-9, said_at="2024-06-01"),
            "is newer and as well supported (1 source each)",
        ),
        (hit(OLD, said_at="2024"), hit(NEW, later_us=-9, said_at="2024-06-01"), "is older and as well supported (1 source each)"),
    ],
)
def test_a_dispute_says_which_is_newer_and_which_is_better_supported(here: Hit, there: Hit, told: str):
    (shown, _) = with_rivals([here, there], {})

    assert dispute_text(shown) == f"disputed: “{NEW}” {told}"


def test_what_agrees_or_is_past_is_in_no_dispute():
    agreeing, past = hit("The gateway speaks TLS."), hit(NEW, superseded_by="x")

    assert [one.rivals for one in with_rivals([hit(OLD), agreeing, past], {})] == [(), (), ()]


def test_pairs_that_disagree_are_told_newest_first_and_former_facts_are_in_none():
    old, new = hit(OLD).fact, hit(NEW, later_us=1).fact
    former = [replace(hit(f"The gateway listens on port {port}.").fact, **gone) for port, gone in GONE]

    assert disputed([old, *former, new]) == [(new, old)]


def test_more_rivals_than_anybody_reads_are_counted():
    ports = [hit(f"The gateway listens on port {port}.") for port in (1, 2, 3, 4)]

    assert dispute_text(with_rivals(ports, {})[0]).endswith("; 1 more")


def test_an_answer_says_that_what_it_quotes_is_disputed():
    hits = with_rivals([hit(OLD), hit(NEW, 3, 1)], {})

    answer = quoted_answer(Question("Which port does the gateway listen on?"), hits, QuotingSettings(), len(hits))

    assert f"“{OLD}” (disputed: “{NEW}” is newer and better supported (3 sources against 1))" in answer.text


async def test_a_single_memory_shows_disputes_among_its_own_facts():
    async with Home().memory() as memory:
        for text in (OLD, NEW, "The gateway speaks TLS."):
            await memory.store_fact("gateway", text)
        rivals = {one.fact.content: [rival.content for rival in one.rivals] for one in await memory.search_facts("gateway")}
        assert rivals == {OLD: [NEW], NEW: [OLD], "The gateway speaks TLS.": []}
