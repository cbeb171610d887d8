"""`hive-mind chat`: facts are listed, explained and taken back while one talks."""

import signal
from subprocess import DEVNULL, PIPE

import pytest

from tests.acceptance.hive_mind_command import HiveMind

SAID = "The ferry to Corrin leaves at nine."


def test_the_sources_of_an_answer_are_explained_and_taken_back_by_their_number(hive_mind: HiveMind) -> None:
    lines = [SAID, "When does the ferry to Corrin leave?", "/why", "/retract 1", "/facts"]

    answer, _, after = hive_mind("chat", stdin="\n".join(lines)).out.partition("said by user")
    assert "leaves at nine" in answer
    assert "Retracted" in after
    assert after.rstrip().endswith("No facts yet.")


def test_facts_are_found_by_words_and_named_by_their_ids(hive_mind: HiveMind) -> None:
    hive_mind("chat", stdin=f"{SAID}\nThe mill in Porto is old.")
    ids = {fact["content"]: fact["id"] for fact in hive_mind("facts", "list", "--output", "json").json}

    out = hive_mind("chat", stdin=f"/facts mill\n/why {ids[SAID][:8]}\n/retract 1").out

    assert "1. The mill in Porto is old." in out
    assert "said by user" in out
    assert [fact["content"] for fact in hive_mind("facts", "list", "--output", "json").json] == [SAID]


def test_what_is_no_command_or_no_fact_is_said_and_learns_nothing(hive_mind: HiveMind) -> None:
    ended = hive_mind("chat", stdin="/help me\n/why 3\n/retract")
    assert "/facts [WORDS] lists facts" in ended.out
    assert ended.err.count("give its number in the last answer or list") == 2
    assert hive_mind("facts", "list").out == "No facts yet.\n"


@pytest.mark.parametrize(("words", "number", "code"), [(["chat"], signal.SIGINT, 130), (["chat", "queen"], signal.SIGTERM, 143)])
def test_a_signal_ends_it_also_while_it_waits(hive_mind: HiveMind, words: list[str], number: signal.Signals, code: int) -> None:
    with hive_mind.start(*words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, is_new=True) as talking:
        assert talking.stdin is not None
        assert talking.stdout is not None
        talking.stdin.write(b"The ferry leaves at nine.\n")
        talking.stdin.flush()
        assert b"Learned 1 fact" in talking.stdout.readline()
        talking.send_signal(number)
        # Its input stays open, and says nothing more.
        assert talking.wait(30) == code
