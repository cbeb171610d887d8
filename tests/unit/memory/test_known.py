"""How many facts there are is known without looking at all of them, whatever becomes of each."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.memory.recall import KnownFacts
from hive_mind.model.fact import KEPT_HOME, Fact, Sharing

IDS = [f"{number:032x}" for number in range(4)]
STATES = st.fixed_dictionaries(
    {
        "sharing": st.sampled_from(Sharing),
        "superseded_by": st.sampled_from(["", IDS[0]]),
        "held_back": st.sampled_from(["", KEPT_HOME]),
        "offered": st.sampled_from([(), ("user",)]),
    }
)


@given(st.lists(st.tuples(st.sampled_from(IDS), STATES)), st.booleans())
def test_current_facts_and_those_on_their_way_are_counted_as_they_come(kept: list[tuple[str, dict[str, object]]], reads: bool):
    away = dict[str, Fact]()
    known = KnownFacts(away.get if reads else None)

    for fact_id, state in kept:
        fact = replace(Fact(fact_id, "The pump is red.", "pump", 0.8, ("user",), 1), **state)  # type: ignore[arg-type]
        away[fact_id] = fact
        known.keep(fact)

    current = [fact for fact in known.values() if fact.is_current]
    on_its_way = [fact for fact in current if not fact.held_back and fact.sharing is not Sharing.SHARED]
    for one in (known, known.copy()):
        assert (one.current, one.on_its_way) == (len(current), len(on_its_way))
