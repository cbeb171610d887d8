"""The keys at the top of a file are statements about what it is titled."""

import pytest

from hive_mind.cognition.extraction.blocks import Layout, blocks
from hive_mind.cognition.extraction.separated import front_matter
from tests.growth import costly

HEAD = "---\ntitle: Crane 12\nkeeper: 'Oda Lie'\ntags:\n  - steel\n  - old\n# a remark\nlimit: 4 t\n---\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_key_is_a_statement_under_the_title_and_so_is_what_follows(end: str):
    found = blocks(f"{HEAD}## Use\n\nIt turns slowly.\n".replace("\n", end))
    assert [block.text for block in found] == [
        "title: Crane 12",
        "keeper: Oda Lie",
        "tags: steel, old",
        "limit: 4 t",
        "It turns slowly.",
    ]
    assert {block.topic for block in found[:-1]} == {"Crane 12"}
    assert [heading.title for heading in found[-1].headings] == ["Crane 12", "Use"]


@pytest.mark.parametrize(
    "text",
    [
        "---\nThis is a sentence between rules.\n---\nMore.",
        "---\ntitle: never ends\n\nText",
        "title: no rule\n---\n",
        "---\n---\n",
        "Text\n---\nkey: value\n---\n",
    ],
)
def test_what_is_no_block_of_keys_is_none(text: str):
    assert front_matter(text.splitlines()) is None
    assert all(block.layout is not Layout.RECORD for block in blocks(text))


def test_a_file_without_a_title_is_about_what_it_names():
    found = front_matter(["+++", "service = 'mailer'", "owner = 'Team Elk'", "+++"])
    assert found is not None
    assert (found.title, found.statements) == ("mailer", ("service: mailer", "owner: Team Elk"))


NESTED = {
    "YAML": "---\ntitle: Crane 12\nteam:\n  lead: Oda Lie\n  deputies: [Bo, Cy]\nports:\n- name: quay\n  number: 4\n---\n",
    "TOML": (
        "+++\ntitle = 'Crane 12'\nports = [{name = 'quay', number = 4}]\n[team]\nlead = 'Oda Lie'\ndeputies = ['Bo', 'Cy']\n+++\n"
    ),
    "JSON": (
        '{\n "title": "Crane 12",\n "team": {"lead": "Oda Lie", "deputies": ["Bo", "Cy"]},\n'
        ' "ports": [{"name": "quay", "number": 4}]\n}\n'
    ),
}


@pytest.mark.parametrize("head", NESTED.values(), ids=NESTED)
def test_a_key_within_another_stands_behind_it(head: str):
    found = blocks(f"{head}\nIt turns slowly.\n")
    assert sorted(block.text for block in found) == [
        "It turns slowly.",
        "ports: name: quay; number: 4",
        "team: deputies: Bo, Cy",
        "team: lead: Oda Lie",
        "title: Crane 12",
    ]
    assert {block.topic for block in found[:-1]} == {"Crane 12"}


def test_objects_below_each_other_are_a_statement_each():
    found = blocks(
        '{"at": "08:03", "host": "m2", "ok": false}\n{"at": "08:04", "full": 0.91, "tags": ["a", "b"]}\nEnd of the log.\n'
    )
    assert [block.text for block in found] == [
        "at: 08:03; host: m2; ok: false",
        "at: 08:04; full: 0.91; tags: a, b",
        "End of the log.",
    ]


def test_fields_of_restructured_text_and_titles_in_other_languages_count():
    found = front_matter(":titel: Kran 12\n:höhe: 40 m\n\nText".splitlines())
    assert found is not None
    assert (found.title, found.statements, found.lines) == ("Kran 12", ("titel: Kran 12", "höhe: 40 m"), 2)


def test_what_a_parser_refuses_is_read_line_by_line_and_the_first_heading_is_the_title_of_a_file_without():
    found = blocks("---\nkeeper: Bo: the elder\ntags:\n  - old\n---\n# Crane 12\n\nText.\n")
    assert [(block.text, block.topic) for block in found[:2]] == [
        ("keeper: Bo: the elder", "Crane 12"),
        ("tags: old", "Crane 12"),
    ]


@pytest.mark.parametrize("head", ["---\n{}\n---\n", "+++\n{}\n+++\n", "{{\n{}\n"])
def test_hostile_keys_are_bounded(head: str):
    bomb = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])
    for text in (bomb, "[" * 900, "a: " * 5_000, '"a": {' * 5_000):
        found = front_matter(head.format(text).splitlines())
        assert found is None or len(found.statements) <= 500


def test_brackets_within_brackets_cost_time_in_proportion():
    hostile = ["[", "{", "a: [", "[a, ", "{a: [", "- [", "[]", "]["]
    assert costly(lambda text: front_matter(f"---\n{text}\n---\n".splitlines()), hostile, 500) == []
