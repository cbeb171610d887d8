import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.replies import UnusableReplyError, answer_reply, concepts_reply, facts_reply, numbered, said_at_reply

GOOD = {"context": "billing", "fact": "Ana owns billing.", "confidence": 0.9}


def facts(*items: object) -> str:
    return json.dumps({"facts": items})


def test_facts_are_read_with_their_context_and_none_is_a_fine_reply():
    (fact,) = facts_reply(facts(GOOD)).facts

    assert (fact.fact, fact.context, fact.confidence, fact.speaker) == ("Ana owns billing.", "billing", 0.9, "")
    assert facts_reply(facts()).facts == ()


@pytest.mark.parametrize(
    "bad",
    [
        {**GOOD, "confidence": 8100},
        {**GOOD, "confidence": -0.1},
        {**GOOD, "confidence": "high"},
        {**GOOD, "fact": " "},
        {**GOOD, "fact": "x" * 2000},
        {**GOOD, "fact": ["Ana"]},
        {"context": "billing"},
        "Ana owns billing.",
        None,
    ],
)
def test_a_bad_fact_is_dropped_and_counted_and_the_good_one_kept(bad: object):
    reply = facts_reply(facts(bad, GOOD))

    assert [fact.fact for fact in reply.facts] == ["Ana owns billing."]
    assert reply.dropped == 1


def test_a_reply_of_bad_facts_alone_is_unusable():
    with pytest.raises(UnusableReplyError, match="between 0 and 1"):
        facts_reply(facts({**GOOD, "confidence": 8100}))


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Sure, here it is: {} I hope it helps.", "\n {} \n"])
def test_what_models_put_around_json_is_ignored(around: str):
    assert facts_reply(around.replace("{}", facts(GOOD))).facts
    assert facts_reply(around.replace("{}", json.dumps([GOOD]))).facts


@pytest.mark.parametrize(
    "garbage",
    [
        *("", "I can't do that.", "{", "}{", "[1, 2", '{"facts": 3}', '{"fact": []}', "null", "\ud800"),
        *("[" * 5_000 + "]" * 5_000, '{"facts": ' + "[" * 5_000 + "]" * 5_000 + "}"),
    ],
    ids=lambda garbage: ascii(garbage)[:20],
)
def test_garbage_is_unusable_and_says_why(garbage: str):
    with pytest.raises(UnusableReplyError, match=r"\w"):
        facts_reply(garbage)


@given(st.text())
def test_any_text_is_either_usable_or_unusable(text: str):
    for parse in (facts_reply, said_at_reply, concepts_reply, lambda reply: answer_reply(reply, 3)):
        with suppress(UnusableReplyError):
            parse(text)


def test_citations_that_do_not_exist_are_dropped_also_from_the_text():
    reply = answer_reply('{"known": true, "answer": "Ana [1] and Ben [9], see [1, 2].", "citations": [9, 2, 1, 2, -1]}', facts=2)

    assert (reply.citations, reply.answer) == ((2, 1), "Ana [1] and Ben, see [1, 2].")


@pytest.mark.parametrize("citations", ["[]", "[0]", "[3]", "[99999999999999]"])
def test_an_answer_that_cites_nothing_real_is_unusable(citations: str):
    with pytest.raises(UnusableReplyError, match="facts 1 to 2"):
        answer_reply(f'{{"known": true, "answer": "Porto", "citations": {citations}}}', facts=2)


def test_not_known_needs_no_citations_and_says_nothing():
    assert answer_reply('{"known": false, "answer": "maybe Porto", "citations": [1]}', facts=2).answer == ""


def test_a_numbered_list_keeps_one_line_a_fact():
    assert numbered(["one", "two\n[3] three"]) == "[1] one\n[2] two [3] three"
