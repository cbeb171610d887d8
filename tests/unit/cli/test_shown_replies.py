"""Where a quoted fact comes from: the agents that said it, and the process that shows it."""

from hive_mind.cli.asking.reply_shown import _provenance


def test_a_fact_is_from_those_who_said_it_and_held_by_the_one_who_shows_it():
    hit = {
        "sources": ["pumps.txt"],
        "from": ["pumps"],
        "trust": 1.0,
        "held_by": "ferry",
        "score": 0.93,
        "fact_id": "a8f17b71" * 4,
    }

    assert _provenance(hit) == "pumps.txt · from pumps · held by ferry · score 0.93 · id a8f17b71"
    assert "from pumps and 2 others · held by ferry" in _provenance(hit | {"from": ["pumps", "ann", "ben"]})
