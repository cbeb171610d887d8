"""The keys at the top of a file are statements about what it is titled."""

import pytest

from hive_mind.cognition.extraction.blocks import Layout, blocks
from hive_mind.cognition.extraction.front_matter import front_matter

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
