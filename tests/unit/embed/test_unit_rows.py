import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hive_mind.embed import distinct, rounded_unit_rows

FINITE = arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False))


@given(FINITE)
def test_rows_have_length_one_or_zero_whatever_their_scale(matrix):
    rows = rounded_unit_rows(matrix)
    lengths = np.linalg.norm(rows, axis=1)
    assert ((lengths == 0) | (np.abs(lengths - 1) < 2e-3)).all()
    assert ((lengths == 0) == (matrix == 0).all(axis=1)).all()


@given(FINITE)
def test_every_value_fits_float16(matrix):
    rows = rounded_unit_rows(matrix)
    np.testing.assert_array_equal(rows, rows.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="not a finite number"):
        rounded_unit_rows(np.array([[1.0, bad]], np.float32))


def test_a_repeated_text_is_sent_once_and_a_blank_one_never():
    parts = distinct(["b", "a", "", "b", "  "])
    assert parts.texts == ["b", "a"]
    assert parts.rows.tolist() == [0, 1, -1, 0, -1]


@given(st.lists(st.text(max_size=3)))
def test_every_text_gets_the_row_of_its_own_content(texts):
    parts = distinct(texts)
    rows = parts.spread(np.arange(1, len(parts.texts) + 1, dtype=np.float32)[:, None], 1)[:, 0]
    for text, row in zip(texts, rows, strict=True):
        assert row == (parts.texts.index(text) + 1 if text.strip() else 0)


def test_half_a_character_becomes_a_question_mark():
    assert distinct(["a\ud800b"]).texts == ["a?b"]
