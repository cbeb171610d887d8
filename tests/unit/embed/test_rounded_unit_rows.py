import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hive_mind.embed.base import rounded_unit_rows

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
