import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.embed.base import distinct


def test_a_repeated_text_is_sent_once_and_a_blank_one_never():
    parts = distinct(["b", "a", "", "b", "  "])
    assert parts.texts == ["b", "a"]
    assert parts.rows.tolist() == [0, 1, -1, 0, -1]


@given(st.lists(st.text(max_size=3)))
def test_every_text_gets_the_row_of_its_own_content(texts):
    parts = distinct(texts)
    numbered = np.arange(1, len(parts.texts) + 1, dtype=np.float32)[:, None]
    rows = parts.spread(numbered, 1)[:, 0]
    for text, row in zip(texts, rows, strict=True):
        assert row == (parts.texts.index(text) + 1 if text.strip() else 0)


def test_half_a_character_becomes_a_question_mark():
    assert distinct(["a\ud800b"]).texts == ["a?b"]
