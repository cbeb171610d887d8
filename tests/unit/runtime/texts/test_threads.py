"""Exports of chats and of issue trackers are read as conversations."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runtime.texts.messages import people_in, text_of_threads
from hive_mind.runtime.texts.text_files import is_learned, read_text
from tests.growth import costly

SLACK = [
    {"user": "U1", "user_profile": {"real_name": "Ana Lopes"}, "text": "Weir 7 is shut &amp; dry.", "ts": "1772443800.0001"},
    {"user": "U9", "text": "<@U1> fixed <https://x.example/w|the door>.", "ts": "1772530200.0002"},
    {"user": "U9", "text": "By whom?", "ts": "1772530300.0002", "thread_ts": "1772443800.0001"},
    {"user": "U1", "text": "<@U1> has joined", "ts": "1772530400.0002", "subtype": "channel_join"},
]
ISSUE = {
    "number": 46,
    "title": "A tab ends it",
    "url": "https://x.example/46",
    "state": "closed",
    "labels": [{"name": "bug"}, {"name": "yaml"}],
    "assignee": None,
    "user": {"login": "lea"},
    "created_at": "2026-02-01T10:00:00Z",
    "body": "Version 2.3.1 ends at a tab.\r\n",
    "comments": [{"user": {"login": "tom"}, "created_at": "2026-02-02T09:00:00Z", "body": "Mended.\n\nIn 2.3.2."}],
}
JIRA = {
    "issues": [
        {
            "key": "WE-7",
            "fields": {
                "summary": "The weir leaks",
                "description": "It loses 3 l/s.",
                "reporter": {"displayName": "Bo Ek"},
                "status": {"name": "Open"},
                "comment": {
                    "comments": [{"author": {"displayName": "Ana"}, "body": "Since May.", "created": "2026-02-02T09:00:00Z"}]
                },
            },
        }
    ]
}


def paragraphs(data: object, **people: str) -> list[str]:
    return (text_of_threads(json.dumps(data), people) or "").strip().split("\n\n")


def test_a_reply_stands_in_its_thread_and_people_have_names():
    assert paragraphs(SLACK, U9="Bo Ek") == [
        "[2026-03-02 09:30] Ana Lopes: Weir 7 is shut & dry.",
        "[2026-03-03 09:31] Bo Ek: By whom?",
        "[2026-03-03 09:30] Bo Ek: Ana Lopes fixed the door (https://x.example/w).",
    ]


def test_an_issue_is_its_fields_and_who_said_what_under_its_title():
    assert paragraphs(ISSUE) == [
        "# A tab ends it",
        "number: 46",
        "state: closed",
        "labels: bug, yaml",
        "opened by: lea",
        "[2026-02-01 10:00] lea: Version 2.3.1 ends at a tab.",
        "[2026-02-02 09:00] tom: Mended.",
        "[2026-02-02 09:00] tom: In 2.3.2.",
    ]
    assert paragraphs(JIRA) == [
        "# The weir leaks",
        "status: Open",
        "opened by: Bo Ek",
        "Bo Ek: It loses 3 l/s.",
        "[2026-02-02 09:00] Ana: Since May.",
    ]


def test_a_message_that_answers_another_stands_behind_its_words():
    telegram = {
        "name": "crew",
        "messages": [
            {"id": 1, "date": "2026-03-02T09:30:00", "from": "Ida Berg", "text": "It opens at 5:40."},
            {
                "id": 2,
                "date": "2026-03-03T09:30:00",
                "from": "Bo",
                "reply_to_message_id": 1,
                "text": ["No, at ", {"text": "6:10"}],
            },
        ],
    }
    assert paragraphs(telegram) == [
        "# crew",
        "[2026-03-02 09:30] Ida Berg: It opens at 5:40.",
        "> It opens at 5:40.",
        "[2026-03-03 09:30] Bo: No, at 6:10",
    ]


def test_a_talk_with_an_assistant_may_have_a_message_a_line():
    lines = [
        {"role": "user", "content": "I live in Porto."},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
    ]
    assert text_of_threads("\n".join(map(json.dumps, lines)), {}) == "user: I live in Porto.\n\nassistant: Noted.\n"


@pytest.mark.parametrize(
    "data",
    [
        {"port": 8443},
        [{"name": "Ana", "phone": 4411}],
        [1, 2],
        "text",
        {"messages": [{"text": "nobody says so"}]},
        [{"title": "A list", "text": "of pages"}],
    ],
)
def test_other_documents_are_no_threads(data: object):
    assert text_of_threads(json.dumps(data), {}) is None
    assert text_of_threads("{", {}) is None
    assert text_of_threads("[" * 100_000, {}) is None


def test_a_folder_gives_its_exports_whose_people_are_named_beside_them(tmp_path: Path):
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U9", "name": "bo", "profile": {"real_name": "Bo Ek"}}]))
    day = tmp_path / "general" / "2026-03-03.json"
    day.parent.mkdir()
    day.write_text(json.dumps(SLACK[1:2]))

    assert [is_learned(path) for path in (day, tmp_path / "users.json", tmp_path / "none.json")] == [True, False, False]
    assert "Bo Ek: U1 fixed the door" in str(read_text(day))
    assert people_in("{}") == {}


KEYS = st.sampled_from("text body user from ts thread_ts id title comments messages fields reply_to created_at name".split())
VALUES = st.recursive(
    st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)


@given(VALUES)
def test_any_document_is_read_without_complaint(data: object):
    text_of_threads(json.dumps(data), people_in(json.dumps(data)))


@pytest.mark.parametrize("depth", [100, 300, 450, 900])
@pytest.mark.parametrize(
    ("begin", "inner", "again", "end"),
    [
        ('{"messages":[{"user":"ana","text":', '[{"text":', "}]", "}]}"),
        ('{"title":"T","body":"b","user":"ana","labels":', "[", "]", "}"),
        ('{"title":"T","body":"b","user":"ana","milestone":', '{"title":', "}", "}"),
        ("[", '{"user":"ana","text":"b","replies":[', "]}", "]"),
    ],
)
def test_however_deeply_a_document_is_nested_it_is_read_or_none(begin: str, inner: str, again: str, end: str, depth: int):
    leaf = '{"user":"ana","text":"b"}' if end == "]" else '"x"'
    source = f"{begin}{inner * depth}{leaf}{again * depth}{end}"
    assert text_of_threads(source, people_in(source)) or depth > 100


def test_time_grows_with_the_messages_and_not_with_their_square():
    hostile = [
        '{"user": "a", "text": "<@U1", "ts": "1"}',
        '{"user": "a", "text": "b", "id": 1, "reply_to": 1}',
        '{"text": "<http://"}',
    ]
    assert costly(lambda lines: text_of_threads(f"[{lines}1]", {}), [f"{message}, " for message in hostile], 20_000) == []
