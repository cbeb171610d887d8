"""The steps of one question: which candidates and passages are asked for, and which ranking stands where they don't come."""

from collections.abc import Mapping

import numpy as np
import pytest

from hive_mind.errors import BackendUnavailable
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import EvidenceColumns, Pool, Probe
from hive_mind.model.query import Method, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.question import NAMES_WEIGHT, InColumns, Ranking, Reading, at_once, ranking_of
from tests.builders import fact

QUESTION = Query("Where was the author of Ash born?", 2)
NOVEL = fact("Ash is a novel that the poet Ivo Kern wrote in Trieste.")
BIRTH = fact("In 1901 the child Ivo Kern was born beside the harbour.")
OTHERS = [fact(f"The author of sketch number {number} was born abroad.") for number in range(3)]
FACTS = {shown.id: shown for shown in (NOVEL, BIRTH, *OTHERS)}


def candidates(scores: Mapping[Fact, float]) -> InColumns:
    count, half = len(scores), np.full(len(scores), 0.5, np.float32)
    keyword, none = np.float32(list(scores.values())), np.full(count, np.nan, np.float32)
    pool = Pool(tuple(shown.id for shown in scores), keyword, none, np.zeros(count, np.float32))
    return InColumns(pool, EvidenceColumns(half, half, half))


FIRST = candidates({NOVEL: 5.0, OTHERS[0]: 4.8, OTHERS[1]: 0.7, OTHERS[2]: 0.6, BIRTH: 0.5})


class World:
    """Gives the first candidates, then those that have the names; `read`: the passages that are still there."""

    def __init__(self, read: Mapping[str, Fact], first: InColumns = FIRST) -> None:
        self.first, self.passages = first, read
        self.probes: list[Probe] = []
        self.readings: list[Reading] = []

    def gather(self, probe: Probe) -> InColumns:
        self.probes.append(probe)
        return self.first if len(self.probes) == 1 else candidates({BIRTH: 6.0})

    def read(self, reading: Reading) -> Mapping[str, Fact]:
        self.readings.append(reading)
        return {fact_id: self.passages[fact_id] for fact_id in reading.ids if fact_id in self.passages}

    def ranked(self, settings: RankingSettings | None = None) -> Ranking[InColumns]:
        return at_once(ranking_of(QUESTION, None, 2, settings or RankingSettings()), self.gather, self.read)


def contents(ranking: Ranking[InColumns], count: int = 2) -> list[str]:
    return [FACTS[document.id].content for document in ranking.best(count)]


def test_the_best_is_read_with_those_that_are_shown_and_its_names_are_the_second_question():
    world = World(FACTS)
    ranking = world.ranked()

    assert [(reading.ids, len(reading.beside)) for reading in world.readings] == [([NOVEL.id], 2)]
    assert world.probes[1].terms == ("ivo", "kern", "triest")
    assert contents(ranking, 3)[2] == BIRTH.content
    assert ranking.lent == pytest.approx({NOVEL.id: NAMES_WEIGHT, BIRTH.id: NAMES_WEIGHT})
    assert [part.pool.ids for part in ranking.passed] == [(BIRTH.id,)]


def test_a_passage_that_nobody_has_any_more_leads_nowhere_and_the_first_ranking_stands():
    world = World({})
    assert contents(world.ranked(), 4) == [NOVEL.content, *(other.content for other in OTHERS)]
    assert len(world.probes) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_as_many_are_shown_as_there_are_however_many_were_ranked_on_the_way(count: int):
    assert [document.id for document in World({}).ranked().best(count)] == list(FIRST.pool.ids)[:count]


def test_those_that_name_the_identifier_lead_on_and_the_question_is_not_left_out():
    opened, mended, other = fact("juniper-10 opened INC-9037"), fact("juniper-10 is mended"), fact("INC-9037, they say")
    first = candidates({opened: 5.0, mended: 4.9, other: 1.0})
    first = InColumns(Pool(first.pool.ids, first.pool.keyword, first.pool.semantic, np.float32([1, 0, 1])), first.evidence)
    world = World({document.id: document for document in (opened, mended)}, first)

    ranking = at_once(ranking_of(Query("What ended INC-9037?", 2), None, 2, RankingSettings()), world.gather, world.read)

    assert sorted(world.readings[0].ids) == sorted([opened.id, opened.id, other.id])
    assert "juniper-10" in world.probes[1].terms
    assert ranking.candidates.pool.ids == (*first.pool.ids, BIRTH.id)


def test_nothing_found_is_not_read():
    world = World(FACTS, candidates({}))
    assert contents(world.ranked()) == []
    assert world.readings == []


@pytest.mark.parametrize(("next_best", "goes_on"), [(2.0, False), (3.0, True)])
def test_where_the_first_is_far_ahead_of_the_next_there_is_no_need_to_look_further(next_best: float, goes_on: bool):
    world = World(FACTS, candidates({NOVEL: 5.0, OTHERS[0]: next_best}))
    world.ranked()
    assert bool(world.readings) is goes_on


def test_one_alone_leads_no_further():
    world = World(FACTS, candidates({NOVEL: 5.0}))
    world.ranked()
    assert world.readings == []


@pytest.mark.parametrize("text", ["the", "INC-9037"])
def test_a_question_without_words_or_of_identifiers_alone_goes_no_further(text: str):
    world = World(FACTS)
    at_once(ranking_of(Query(text, 2), None, 2, RankingSettings()), world.gather, world.read)
    assert (len(world.probes), world.readings) == (1, [])


def test_without_a_second_hop_one_round_is_all():
    world = World(FACTS)
    world.ranked(RankingSettings(second_hop=False))
    assert (len(world.probes), world.readings) == (1, [])


def test_feedback_asks_again_with_words_of_the_best_and_keeps_what_was_gathered():
    world = World(FACTS)
    ranking = world.ranked(RankingSettings(second_hop=False, expansion="feedback"))
    assert set(world.probes[0].terms) < set(world.probes[1].terms)
    assert [part.pool.ids for part in ranking.passed] == [FIRST.pool.ids]


@pytest.mark.parametrize("fails", [1, 2])
def test_where_the_others_are_away_meanwhile_the_ranking_is_the_one_so_far(fails: int):
    steps = ranking_of(QUESTION, None, 2, RankingSettings())
    next(steps)
    assert isinstance(steps.send(FIRST), Reading)
    if fails == 2:
        assert isinstance(steps.send(FACTS), Probe)
    with pytest.raises(StopIteration) as ended:
        steps.throw(BackendUnavailable("hive", "away"))
    assert contents(ended.value.value)[0] == NOVEL.content


@pytest.mark.parametrize(
    ("method", "limit", "depth"), [("hybrid", 5, 20), ("hybrid", 50, 50), ("keyword", 5, 15), ("vector", 5, 15)]
)
def test_arms_that_are_fused_are_deep_and_one_alone_is_as_deep_as_it_is_asked_for(method: Method, limit: int, depth: int):
    assert RankingSettings(depth=20, depth_per_hit=3).depth_for(method, limit) == depth
