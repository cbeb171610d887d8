"""Where a fact comes from: the agents that said it, and the process that shows it."""

from hive_mind.cli.asking.quick_ask import provenance, show_note

HIT = {
    "content": "Pump D4 cools the transformers.",
    "concept": "Pump D4",
    "confidence": 0.8,
    "learned_at_us": 0,
    "sources": ["pumps.txt"],
    "from": ["pumps"],
    "trust": 1.0,
    "held_by": "ferry",
    "held_back": "",
    "score": 0.93,
    "fact_id": "a8f17b71" * 4,
}


def test_a_fact_is_from_those_who_said_it_and_held_by_the_one_who_shows_it():
    assert provenance(HIT) == "pumps.txt · from pumps · held by ferry · score 0.93 · id a8f17b71"
    assert "from pumps and 2 others · held by ferry" in provenance(HIT | {"from": ["pumps", "ann", "ben"]})


def test_of_what_the_agent_that_answers_said_itself_no_author_is_named():
    assert provenance(HIT | {"held_by": ""}, "pumps") == "pumps.txt · score 0.93 · id a8f17b71"
    assert "from pumps and 1 other" in provenance(HIT | {"from": ["pumps", "ann"]}, "pumps")


def test_what_the_ranking_had_to_do_without_is_told_and_a_process_of_an_earlier_version_has_no_word_for_it(capsys):
    for reply in ({}, {"note": ""}, {"note": "not reranked: its time was over"}):
        show_note(reply)
    assert capsys.readouterr().out == "note: not reranked: its time was over\n"
