"""Of facts that can't be true beside one another, what more speaks for comes first; nothing else moves."""

from hive_mind.memory.disputes import likeliest_first
from hive_mind.model.fact import Fact
from hive_mind.model.query import ComponentScores, Hit


def hits(*names: str, rivals: str = "") -> list[Hit]:
    """By name, best first; those named in `rivals` contradict each other."""
    facts = {name: Fact(name, f"It is {name}.", "it", 0.8, ("s",), 0) for name in names}
    made = []
    for place, name in enumerate(names):
        others = tuple(facts[rival] for rival in rivals if rival != name) if name in rivals else ()
        components = ComponentScores(0.0, None, 0.0, 0.0, 0.5)
        made.append(Hit(facts[name], 1.0 - place / 10, components, rivals=others))
    return made


def order(found: list[Hit]) -> str:
    return "".join(hit.fact.id for hit in found)


def test_what_more_speaks_for_takes_the_best_place_of_its_group_and_the_others_stay() -> None:
    assert order(likeliest_first(hits("a", "x", "b", "y", "c", rivals="abc"), {"a": -1.0, "b": 3.0, "c": 1.0})) == "bxcya"


def test_one_of_whom_nothing_is_known_weighs_like_one_unknown_agent_and_where_it_is_of_all_the_order_stays() -> None:
    given = hits("a", "b", rivals="ab")
    votes: list[dict[str, float | None]] = [{}, {"a": None, "b": None}, {"b": 3.0}, {"b": 0.1}]
    assert [order(likeliest_first(given, known)) for known in votes] == ["ab", "ab", "ba", "ab"]


def test_two_disputes_do_not_mix() -> None:
    given = [*hits("a", "b", rivals="ab"), *hits("c", "d", rivals="cd")]
    assert order(likeliest_first(given, {"b": 9.0, "d": 9.0})) == "badc"
