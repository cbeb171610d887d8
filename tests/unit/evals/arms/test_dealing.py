"""Who learns which document.

The same seed gives the same rows, whatever clocks say and whatever was asked before.
Document 004's federated hive, by hand and beside ours.
A coordinator that asks a few agents only, those whose facts are nearest by meaning.
"""

import pytest

from hive_mind.evals.arms import DEALS, deal_by, names_of, worded
from hive_mind.evals.datasets import Document
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.ranking.pipeline import RRF_K
from tests.sampled import thorough
from tests.unit.evals.arms.notes import Told, drawn, scope_of, told

TURNS = [
    Document(
        f"d{number}",
        f"Turn {number}.",
        "talk",
        speaker=("Ines", "Otto")[number % 2],
        section=f"session {number // 4}",
        topic=("pumps", "doors", "ferries")[number % 3],
    )
    for number in range(12)
]


@pytest.mark.parametrize("name", DEALS)
@pytest.mark.parametrize("agents", [1, 3, 10, 20])
def test_every_document_goes_to_exactly_one_agent(name: str, agents: int):
    dealt = deal_by(name)(TURNS, agents)

    assert len(dealt) == agents
    assert sorted(document.id for some in dealt for document in some) == sorted(document.id for document in TURNS)


def test_one_after_the_other_everybody_gets_as_much():
    assert [[one.id for one in some] for some in deal_by("round-robin")(TURNS[:5], 2)] == [["d0", "d2", "d4"], ["d1", "d3"]]


@pytest.mark.parametrize(("name", "field"), [("session", "section"), ("speaker", "speaker"), ("topic", "topic")])
def test_what_belongs_together_is_learned_by_one_agent_in_its_order(name: str, field: str):
    dealt = deal_by(name)(TURNS, 5)

    learners = {getattr(document, field): set() for document in TURNS}
    for number, some in enumerate(dealt):
        for document in some:
            learners[getattr(document, field)].add(number)
        assert [one.id for one in some] == sorted((one.id for one in some), key=lambda name: int(name[1:]))
    assert all(len(agents) == 1 for agents in learners.values())
    assert sum(map(bool, dealt)) == len(learners)


def test_where_a_deal_is_drawn_the_seed_decides_and_nothing_else():
    once, again, other = (deal_by("random", seed)(TURNS, 4) for seed in (7, 7, 8))

    assert once == again
    assert once != other


@pytest.mark.parametrize("name", [name for name in DEALS if name != "random"])
def test_where_nothing_is_drawn_the_seed_changes_nothing(name: str):
    assert deal_by(name, 7)(TURNS, 4) == deal_by(name, 8)(TURNS, 4)


def test_agents_have_names_that_sort_as_they_are_numbered():
    names = names_of(100)

    assert names[:2] == ("agent-00", "agent-01")
    assert list(names) == sorted(set(names))
    assert len(names) == 100


def test_only_documents_that_say_something_are_kept():
    assert [one.id for one in worded([Document("a", "Word.", "x"), Document("b", "…!", "x"), Document("c", "", "x")])] == ["a"]


ARMS = [
    Arm("single"),
    Arm("flat", 5),
    Arm("federated", 6, groups=3, deal="random"),
    Arm("sharded", 7, replicas=2),
    Arm("seed-federated", 6, groups=3),
    Arm("routed", 6, fan_out=2, deal="session"),
    Arm("bm25"),
    Arm("random"),
]
SIMULATED = [
    Arm("flat", 5, place="simulator"),
    Arm("federated", 7, groups=3, place="simulator"),
    Arm("sharded", 9, replicas=2, place="simulator"),
]
OTHER_FAULTS = (Fault(), Fault(down=2), Fault(loss=0.3), Fault(slow=2, slow_ms=120))
CASES = [
    *((arm, Fault()) for arm in ARMS),
    *((arm, Fault(down=2)) for arm in ARMS if arm.kind in ("federated", "sharded", "seed-federated", "routed")),
    *((arm, Fault(down=1, loss=0.1, slow=2, slow_ms=150)) for arm in SIMULATED),
    *(thorough(arm, fault) for arm in SIMULATED for fault in OTHER_FAULTS),
]


def lasting(one: Told, *, is_virtual: bool) -> list[object]:
    """All of it that goes into rows, and the time where that is virtual."""
    rows = [([(hit.fact.id, hit.score) for hit in outcome.hits], outcome.cost) for outcome in one.outcomes]
    return [(row, outcome.wall_s if is_virtual else None) for row, outcome in zip(rows, one.outcomes, strict=True)]


@pytest.mark.parametrize(("arm", "fault"), CASES, ids=str)
def test_the_same_seed_gives_the_same_rows_also_to_who_goes_on_later(arm: Arm, fault: Fault):
    scope = drawn()

    once = told(arm, scope, "hybrid", fault=fault)
    resumed = told(arm, scope, "hybrid", fault=fault, asked=slice(7, None))

    is_virtual = arm.place == "simulator"
    assert lasting(resumed, is_virtual=is_virtual) == lasting(once, is_virtual=is_virtual)[7:]
    assert resumed.documents == once.documents
    assert not is_virtual or resumed.learned.bytes == once.learned.bytes


def test_another_seed_deals_and_stops_others():
    arm = Arm("federated", 6, groups=3, deal="random")
    one, other = (told(arm, drawn(), fault=Fault(down=1), seed=seed) for seed in (1, 3))

    assert one.facts != other.facts


def test_time_and_processor_time_are_measured():
    (outcome,) = told(Arm("flat", 2), drawn(), asked=slice(0, 1)).outcomes

    assert min(outcome.cpu_s, outcome.wall_s) > 0


PAIR = Arm("seed-federated", 2, groups=2)


def test_what_all_groups_returned_is_ranked_by_keywords_and_by_confidence():
    # Alternately to two groups. By confidence d1, d3, d0; by keywords each group says how well its own match.
    sure = [{"confidence": value} for value in ("0.5", "0.9", "0.1", "0.7")]
    scope = scope_of(["pump leaks", "the old pump in the hall", "green door", "the pump leaks now"], ["pump leaks"], meta=sure)

    (outcome,) = told(PAIR, scope, limit=5).outcomes

    by_keyword = sorted(outcome.hits, key=lambda hit: -hit.components.keyword)
    by_confidence = sorted(outcome.hits, key=lambda hit: -hit.fact.confidence)
    places = {id(hit): [1 + ranking.index(hit) for ranking in (by_keyword, by_confidence)] for hit in outcome.hits}
    assert [hit.fact.confidence for hit in by_confidence] == pytest.approx([0.9, 0.7, 0.5])
    for hit in outcome.hits:
        assert hit.score == pytest.approx(sum((RRF_K + 1) / (RRF_K + place) for place in places[id(hit)]) / 2)
    assert list(outcome.hits) == sorted(outcome.hits, key=lambda hit: -hit.score)


def test_where_all_are_equally_sure_the_second_list_is_one_by_id():
    (outcome,) = told(PAIR, scope_of(["pump", "pump door", "pump hall ferry"], ["pump"]), limit=3).outcomes

    by_keyword = sorted(outcome.hits, key=lambda hit: (-hit.components.keyword, hit.fact.id))
    by_id = sorted(outcome.hits, key=lambda hit: hit.fact.id)
    expected = {hit.fact.id: 1 / (61 + by_keyword.index(hit)) + 1 / (61 + by_id.index(hit)) for hit in outcome.hits}
    assert [hit.score for hit in outcome.hits] == pytest.approx([61 / 2 * expected[hit.fact.id] for hit in outcome.hits])


def test_each_group_hands_over_three_for_one():
    scope = scope_of([f"pump {'valve ' * number}" for number in range(12)], ["pump"])

    found = told(Arm("seed-federated", 2, groups=2), scope, limit=1)

    # The best by either list is among the three best by keywords of its group: the shortest.
    assert int(found.found[0][0].removeprefix("d")) < 6


def test_it_costs_a_request_and_a_reply_for_each_other_group():
    outcomes = told(Arm("seed-federated", 8, groups=4), drawn()).outcomes

    assert {one.cost.messages for one in outcomes} == {6}
    assert {one.cost.fan_out for one in outcomes} == {3}
    assert all(one.cost.bytes > 6 * 20 for one in outcomes)


def test_a_group_that_is_down_is_asked_in_vain():
    outcomes = told(Arm("seed-federated", 8, groups=4), drawn(), fault=Fault(down=1)).outcomes

    assert {one.cost.messages for one in outcomes} == {3 + 2}
    assert {one.cost.completeness for one in outcomes} == {0.75}


def test_it_finds_less_than_one_ranking_over_everything():
    scope = drawn(100, 30)
    questions = [document.text for document in scope.documents[:30]]
    whole = scope_of([document.text for document in scope.documents], [" ".join(text.split()[:4]) for text in questions])

    ours, theirs = (told(Arm(kind, 10, groups=5), whole) for kind in ("federated", "seed-federated"))

    def share(found: list[list[str]]) -> float:
        return sum(f"d{number}" in names for number, names in enumerate(found)) / len(found)

    assert share(ours.found) > share(theirs.found) + 0.05


TOPICS = scope_of(
    ["red pump leaks", "the ferry leaves at nine", "blue door opens", "green pump", "the ferry is late", "the door closes"],
    ["which pump is red", "when is the ferry", "is the door blue"],
    topic=["pumps", "ferries", "doors"] * 2,
)


def test_the_one_agent_who_knows_about_it_is_asked():
    one = told(Arm("routed", 3, fan_out=1, deal="topic"), TOPICS)

    assert list(map(sorted, one.found)) == [["d0", "d3"], ["d1", "d4"], ["d2", "d5"]]
    assert {outcome.cost.completeness for outcome in one.outcomes} == {1 / 3}
    # Each question is put by the agent that happens to know: it asks itself.
    assert one.messages == [0, 0, 0]


def test_messages_are_those_of_a_hive_of_the_chosen():
    scope = scope_of([document.text for document in TOPICS.documents], ["door blue"], topic=["pumps", "ferries", "doors"] * 2)

    (outcome,) = told(Arm("routed", 3, fan_out=1, deal="topic"), scope).outcomes

    # The agent of the pumps asks the one of the doors: search and hand over.
    assert (outcome.cost.fan_out, outcome.cost.messages) == (1, 2 * (1 + 1))


def test_facts_that_are_sure_enough_for_everyone_elsewhere_stay_where_they_are():
    texts = [document.text for document in TOPICS.documents]
    scope = scope_of(texts, ["ferry"], topic=["pumps", "ferries", "doors"] * 2, meta=[{"confidence": "0.95"}] * 6)

    assert sorted(told(Arm("routed", 3, fan_out=1, deal="topic"), scope).found[0]) == ["d1", "d4"]


def test_a_chosen_one_that_is_down_is_missing():
    found = [told(Arm("routed", 3, fan_out=1, deal="topic"), TOPICS, fault=Fault(down=1), seed=seed) for seed in range(4)]

    for one in found:
        assert sorted(outcome.cost.completeness for outcome in one.outcomes) == pytest.approx([0, 1 / 3, 1 / 3])
        assert sorted(len(names) for names in one.found) == [0, 2, 2]


def test_an_agent_that_learned_nothing_is_asked_last():
    scope = scope_of(["red pump"], ["something else altogether"])

    (outcome,) = told(Arm("routed", 4, fan_out=1), scope, "semantic").outcomes

    assert [hit.fact.content for hit in outcome.hits] == ["red pump"] or not outcome.hits
    assert outcome.cost.fan_out == 0


def test_what_another_was_told_first_is_none_of_what_an_agent_is_known_for():
    # The second agent is dealt what the first one keeps already, so it keeps nothing, and whoever asks it finds nothing.
    scope = scope_of(["red pump", "the ferry leaves", "red pump"], ["red pump"], topic=["pumps", "pumps", "again"])

    (outcome,) = told(Arm("routed", 2, fan_out=1, deal="topic"), scope).outcomes

    assert [hit.fact.content for hit in outcome.hits] == ["red pump"]
