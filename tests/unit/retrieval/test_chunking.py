"""Documents are cut at headings and where they get too long: nothing is lost, nothing is longer than was asked for."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.retrieval import Chunking
from hive_mind.retrieval.documents import _TOKEN, HEADING_CHARACTERS_MAX, chunks_of, heading_of, pieces, tail

LINE = st.sampled_from(["# A", "## B", "### C", "```", "~~~~", "", "word, word.", "漢字かな交じり", "a" * 40, "## B ##"])
LINES = st.lists(LINE, max_size=40)


def tokens_in(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))


def cut(text: str, **fields: object) -> list[tuple[str, str]]:
    return [(chunk.heading, chunk.text) for chunk in chunks_of(text, Chunking(**fields))]


def test_text_before_the_first_heading_is_a_chunk_of_its_own():
    assert cut("Before.\n# One\nText.") == [("", "Before."), ("One", "# One\nText.")]


def test_two_equal_headings_are_two_chunks():
    assert cut("## Same\nfirst\n## Same\nsecond") == [("Same", "## Same\nfirst"), ("Same", "## Same\nsecond")]


def test_deeper_headings_stay_inside_and_are_told_by_their_path():
    text = "# Guide\n## Install\nRun it.\n### Windows\nToo.\n## Use\nNow."

    def headings(level: int) -> list[str]:
        return [heading for heading, _ in cut(text, heading_level=level)]

    assert headings(1) == ["Guide"]
    assert headings(2) == ["Guide > Install", "Guide > Use"]
    assert headings(3) == ["Guide > Install", "Guide > Install > Windows", "Guide > Use"]


def test_a_heading_above_another_one_is_no_chunk_of_its_own():
    assert cut("# Guide\n\n## Install\nRun it.\n## Use\nNow.") == [
        ("Guide > Install", "# Guide\n\n## Install\nRun it."),
        ("Guide > Use", "## Use\nNow."),
    ]
    assert [heading for heading, _ in cut("## One\n## Two\ntext")] == ["One", "Two"]


@pytest.mark.parametrize("fence", ["```\n{}\n```", "~~~ sh\n{}\n~~~", "````\n```\n{}\n````", "```\n{}"])
def test_a_number_sign_in_code_is_no_heading(fence: str):
    assert len(cut("# One\n" + fence.format("# a comment"))) == 1


def test_plain_text_has_no_headings():
    assert cut("# One\ntext\n# Two", format="plain") == [("", "# One\ntext\n# Two")]


def test_fixed_cuts_only_where_it_gets_too_long():
    assert len(cut("# One\ntext\n# Two", strategy="fixed")) == 1
    assert len(cut("word " * 40, strategy="fixed", max_tokens=16)) == 3


def test_a_long_section_ends_its_pieces_at_sentences_and_each_keeps_the_heading():
    text = "# Long\n" + "One two three four five. " * 12

    found = cut(text, max_tokens=16)

    assert all(heading == "Long" for heading, _ in found)
    assert all(piece.endswith(".") for _, piece in found)


def test_paragraphs_are_kept_together_where_they_fit():
    first, second = "a b c d e f g h i j", "k l m n o p q r"

    assert list(pieces(f"{first}\n\n{second}", Chunking(max_tokens=16))) == [first, second]


def test_pieces_overlap_by_as_much_as_was_asked_for():
    words = [f"w{number}" for number in range(40)]

    found = [piece.split() for piece in pieces(" ".join(words), Chunking(max_tokens=16, overlap_tokens=4))]

    assert all(left[-4:] == right[:4] for left, right in pairwise(found))


def test_an_overlap_as_large_as_a_chunk_still_comes_to_an_end():
    assert len(list(pieces("w " * 40, Chunking(max_tokens=16, overlap_tokens=4096)))) == 25


@pytest.mark.parametrize("text", ["x" * 100_000, "漢" * 5_000, "!" * 5_000, "a\n" * 5_000])
def test_text_without_words_or_sentences_is_bounded_too(text: str):
    assert max(tokens_in(piece) for piece in pieces(text, Chunking(max_tokens=64))) <= 64


@pytest.mark.parametrize("text", ["", "\n\n", "   \t"])
def test_a_document_without_text_has_no_chunks(text: str):
    assert cut(text) == []


def test_the_tail_of_a_text_is_its_last_tokens():
    assert tail("one two three, four", 3) == ", four" or tail("one two three, four", 3) == "three, four"
    assert tail("", 3) == ""


@given(LINES, st.integers(16, 40), st.integers(0, 20), st.integers(1, 6), st.sampled_from(["by_heading", "fixed"]))
def test_no_chunk_is_too_long_and_every_token_is_in_one(lines: list[str], most: int, overlap: int, level: int, strategy: str):
    text = "\n".join(lines)
    chunking = Chunking(strategy=strategy, heading_level=level, max_tokens=most, overlap_tokens=overlap)

    found = [chunk.text for chunk in chunks_of(text, chunking)]

    assert all(0 < tokens_in(piece) <= most for piece in found)
    bare = ["".join(piece.split()) for piece in found]
    if not overlap:
        assert "".join(bare) == "".join(text.split())
    assert all(piece in "".join(text.split()) for piece in bare)


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# One", (1, "One")),
        ("  # One", (1, "One")),
        ("# One ###  ", (1, "One")),
        ("   ### Two ##  ", (3, "Two")),
        ("## C#", (2, "C#")),
        ("#", (1, "")),
        ("## ##", (2, "")),
        ("#\tTab", (1, "Tab")),
        ("#One", None),
        ("    # Code", None),
        ("####### Seven", None),
        ("One # Two", None),
        ("`` ` `` # x", None),
    ],
)
def test_headings_are_those_of_commonmark(line: str, heading: tuple[int, str] | None):
    assert heading_of(line) == heading


def test_a_line_made_to_take_long_takes_no_longer_than_any_other():
    line = "# a" + (" " * 30_000 + "#") * 3 + "x"
    began = time.process_time()

    assert heading_of(line) is not None

    # Minutes, where marks at the end are looked for at every place.
    assert time.process_time() - began < 1


def test_a_heading_without_end_is_not_repeated_at_each_chunk_below_it():
    found = cut("# " + "long " * 2_000 + "\n\n## One\ntext")

    assert max(len(heading) for heading, _ in found) <= 2 * HEADING_CHARACTERS_MAX
    assert "".join(text for _, text in found).count("long") == 2_000
