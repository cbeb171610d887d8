"""Log lines: one statement each, at its own time, whatever stands around them."""

import pytest

from hive_mind.cognition.extraction.blocks import Layout, blocks
from hive_mind.cognition.extraction.separated import log_line_of, message_of, stamp_time
from tests.unit.cognition.reading import answer, candidates, hit

LOG = """2025-03-11 10:00:00 ERROR disk full on db1
[2025-03-11T10:00:05Z] WARN slow
2025-03-11 10:00:07,123 - app.store - INFO - started worker 3
2025-03-12 10:00:09 worker 3 stopped"""


def test_every_line_is_one_fact_with_its_own_time_about_what_its_message_names_and_follows_from_nothing():
    found = candidates(LOG)
    times = ["2025-03-11T10:00:00", "2025-03-11T10:00:05Z", "2025-03-11T10:00:07", "2025-03-12T10:00:09"]

    assert [candidate.content for candidate in found] == LOG.splitlines()
    assert [candidate.said_at for candidate in found] == times
    assert (found[0].concept, found[0].before, found[0].labels) == ("db1", "", ())
    assert {"INFO", "ERROR", "WARN"}.isdisjoint(name for candidate in found for name in candidate.entities)


def test_who_asked_a_server_of_the_web_stands_ahead_of_the_time():
    lines = [
        f'203.0.113.{n} - - [10/Oct/2025:13:55:3{n} +0000] "GET /boats/{n} HTTP/1.1" 200 232 "-" "curl/8.4.0"' for n in (6, 7)
    ]
    assert [(c.content, c.said_at) for c in candidates("\n".join(lines))] == [(line, "2025-10-10T13:55") for line in lines]


def test_syslog_takes_its_year_from_the_content():
    line = "Mar 11 10:00:01 host sshd[12]: Failed password for Ana"

    assert [(c.content, c.said_at) for c in candidates(line, said_at="2025-04-01")] == [(line, "2025-03-11T10:00:01")]
    assert candidates(line)[0].said_at == ""
    assert stamp_time("Mar  1 10:00:01", "2025-04-01") == "2025-03-01T10:00:01"


@pytest.mark.parametrize("line", [*LOG.splitlines(), "Mar 11 10:00:01 host sshd[12]: closed", "10:00:01 ERROR db1: disk full"])
def test_a_log_line_is_not_part_of_the_utterance_before_it(line: str):
    found = blocks(f"Ana: I like tea.\n{line}\nBen: You do.")

    assert [(block.layout, block.text) for block in found] == [
        (Layout.UTTERANCE, "I like tea."),
        (Layout.LOG, line),
        (Layout.UTTERANCE, "You do."),
    ]


def test_chat_with_a_time_in_front_stays_chat_and_a_wrapped_line_that_begins_with_one_a_sentence():
    found = blocks("2024-03-05 10:22 Ana: I moved.\n[2024-03-05 10:25] Ben Silva: Good.")
    assert [block.speaker for block in found] == ["Ana", "Ben Silva"]

    text = "The outage that nobody had expected on any of the sites began at\n2025-03-11 10:00 and ended an hour later."
    assert [block.layout for block in blocks(text)] == [Layout.PROSE]


@pytest.mark.parametrize("line", ["10:00 lunch", "2025-03-11", "2025-03-11 10:00:00", "2025-03-11 we met", "March 11", ""])
def test_what_says_no_time_or_nothing_behind_it_is_no_log_line(line: str):
    assert log_line_of(line) is None
    assert message_of(line) == line


def test_the_time_of_a_log_line_is_told_once_and_what_it_says_of_yesterday_is_resolved():
    line = "Mar 11 10:00:01 host backup: last run yesterday"

    found = answer("When was the last run of the backup?", hit(line, said_at="2025-03-11T10:00:01"))

    assert found.text.endswith(f"“{line}” — 11 Mar 2025, 10:00 (“yesterday” is 2025-03-10)")


@pytest.mark.parametrize("content", ["2025-03-11 10:00:00 ERROR disk full", "The disk was full on 11 March 2025."])
def test_a_written_date_needs_no_remark(content: str):
    assert "” is " not in answer("When was the disk full?", hit(content, said_at="2025-03-11T10:00:00")).text
