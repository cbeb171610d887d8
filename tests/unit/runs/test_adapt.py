"""adapt.md: only the lines of outputs are ever changed, and what a person wrote stays as it is."""

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runs.files import ADAPT_CHARACTERS_MAX, ADAPT_VALUE_CHARACTERS, adapt_seeded, with_output

_LINES = st.sampled_from(
    [
        "",
        "## Identity",
        "## Rules",
        "## Outputs",
        "## Notes",
        "# Title",
        "- be brief",
        "- mind: the gap",
        "  text",
        "## Outputs of ours",
    ]
) | st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=20).filter(
    lambda line: not line.startswith("- key")
)
_TEXTS = st.lists(_LINES, max_size=12).map("\n".join)
_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.lists(st.text(max_size=5), max_size=3)


@given(_TEXTS, _VALUES)
def test_what_a_person_wrote_is_never_touched(text: str, value: object) -> None:
    after = with_output(text, "key1", value)
    theirs = [line for line in after.split("\n") if not line.startswith("- key1: ")]
    # A heading is added where there was none, and ends of lines and sections where they were missing.
    begun = [line for line in text.split("\n") if line]
    kept = [line for line in theirs if line]
    assert kept in (begun, [*begun, "## Outputs"])


@given(_TEXTS, _VALUES, _VALUES)
def test_an_output_has_one_line_which_is_replaced_in_its_place(text: str, first: object, second: object) -> None:
    once = with_output(text, "key1", first)
    between = with_output(once, "key2", 0)
    twice = with_output(between, "key1", second)
    lines, before = twice.split("\n"), between.split("\n")
    assert sum(line.startswith("- key1: ") for line in lines) == 1
    assert [number for number, line in enumerate(lines) if line.startswith("- key1: ")] == [
        number for number, line in enumerate(before) if line.startswith("- key1: ")
    ]
    assert len(lines) == len(before)


@given(_TEXTS, _VALUES)
def test_the_same_output_again_changes_nothing(text: str, value: object) -> None:
    once = with_output(text, "key1", value)
    assert with_output(once, "key1", value) == once


def test_outputs_stand_in_their_section_and_nowhere_else() -> None:
    text = "## Rules\n- key: mine\n\n## Outputs\n- old: 1\n\n## Notes\n- key: mine, too\n"
    assert with_output(text, "key", 2) == (
        "## Rules\n- key: mine\n\n## Outputs\n- old: 1\n- key: 2\n\n## Notes\n- key: mine, too\n"
    )


def test_a_value_is_one_line_of_json_and_cut() -> None:
    assert '- key: "two\\nlines"' in with_output("", "key", "two\nlines")
    (line,) = [one for one in with_output("", "key", "x" * 1_000).split("\n") if one.startswith("- key")]
    assert len(line) == len("- key: ") + ADAPT_VALUE_CHARACTERS
    assert line.endswith("…")


def test_a_line_that_would_make_it_too_long_is_left_out() -> None:
    text = "x" * (ADAPT_CHARACTERS_MAX - 30)
    assert with_output(text, "key", "y" * 100) == text
    assert with_output(text[:-200], "key", "y" * 100) != text[:-200]


def test_a_new_memory_says_who_the_agent_is_and_has_room_for_rules_and_outputs() -> None:
    text = adapt_seeded("I keep gates. ", ["mail"])
    assert text == "## Identity\nI keep gates.\n- account: mail\n\n## Rules\n\n## Outputs\n"
    assert with_output(text, "key", 1).endswith("## Outputs\n- key: 1\n")
    assert "An agent of hive-mind." in adapt_seeded("")
