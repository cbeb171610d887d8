"""Laws of extraction: nothing is invented, nothing is empty, and no input makes it slow."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from hive_mind.cognition.extraction.sentences import CODE_CHARS_MAX, SENTENCE_CHARS_MAX
from hive_mind.model import ids
from hive_mind.model.ids import canonical
from tests.growth import costly
from tests.unit.cognition.reading import candidates

# A question, a name and an answer.
_EXCHANGE_CHARS_MAX = SENTENCE_CHARS_MAX + 300

WORDS = st.sampled_from(
    "Ana moved to Porto. # Heading\n - item\n 1. > quote\n Ben: I you said? yes! Dr. e.g. [2024-03-05 10:22] | a | b |\n |---|\n "
    "```\n **bold**\n 10:22 yesterday INC-2024-001 === \n\n \n 我住在波尔图。 … “why?” it's may probably 5,000 "
    "2025-03-11T10:00:00Z ERROR".split(" ")
)
ROWS = st.sampled_from(
    ("a,b", "Ana,1", '"x, y",z', "a;b", ",c", '"u', 'v",w', "a, 3", "Ben,\t2", "2025-03-11 10:00:00 ERROR a,b")
)
TEXTS = st.one_of(
    st.text(),
    st.lists(WORDS, max_size=40).map(" ".join),
    st.lists(WORDS, max_size=40).map("\n".join),
    st.lists(ROWS, min_size=3, max_size=8).map("\n".join),
)


@given(TEXTS)
@example("Ana: I see\n|---|\nthat")
@example("```\nx = 1\n> y\nz")
@example("Ana likes this:\n- tea\n- bread and salt")
@example("? 0‘")
@example("Day    Nurse\nMon    12\nTue    13")
@example('a\tb c\td\n1\t2;"\t3\n4\t5 6\t7')
def test_every_candidate_is_verbatim_in_the_text_up_to_white_space(text: str):
    # Tabs, and gaps, between the fields of a row are kept as semicolons.
    shown = (lambda told: re.sub(r'[\s;"]', "", canonical(told))) if re.search(r"\t|\s{2}", text) else canonical
    words = shown(ids.shown(text))

    for candidate in candidates(text):
        # A question and its answer stand on two lines, with a name and a time between them, as titles do; items have their marks.
        lines = candidate.content.split("\n") if candidate.keeps_lines else [candidate.content]
        assert all(shown(part) in words for line in lines for part in canonical(line).split(": "))
        _, _, before = candidate.before.partition(": ")
        told = (candidate.before, before)
        assert any(shown(one) in words for one in told) or all(shown(one) in words for one in candidate.before.split(": "))


@given(TEXTS, st.text(max_size=20), st.text(max_size=20))
def test_every_candidate_is_complete(text: str, title: str, speaker: str):
    for candidate in candidates(text, title=title, speaker=speaker):
        assert candidate.content.strip()
        assert len(candidate.content) <= (CODE_CHARS_MAX if candidate.keeps_lines else _EXCHANGE_CHARS_MAX)
        assert candidate.concept.strip()
        assert len(candidate.concept) <= 80
        assert 0.0 <= candidate.confidence <= 1.0
        assert all(name in candidate.content for name in candidate.entities)


@given(st.binary(max_size=500))
def test_binary_junk_is_read_without_complaint(junk: bytes):
    candidates(junk.decode("utf-8", "replace"))
    candidates(junk.decode("utf-16", "surrogatepass") if len(junk) % 2 == 0 and _is_utf16(junk) else junk.decode("latin-1"))


HOSTILE = [
    *("a", "A. ", "(", ".", "Ab ", "a@", "1.", "1-", "\n", "Ana: I am\n", "> ", "|", "**", "```\n"),
    *("8 May 2023 ", "# 5 May 2024\nThe end.\n", "## A\nDate: 5 May 2024\n", "No! ", "[2024-", "AB1-", "ab:"),
    *("a,b\n", 'a,"', "a\tb;c\n", "2025-03-11 10:00:00 ERROR x\n", "[2025-03-11 10:00 [", "Mar 11 10:00:01 "),
]


def test_four_times_the_text_takes_about_four_times_as_long():
    assert costly(candidates, HOSTILE, 1_000) == []


def _is_utf16(junk: bytes) -> bool:
    try:
        junk.decode("utf-16", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
