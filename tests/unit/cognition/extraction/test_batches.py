from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.prompted import batches


@given(st.text(alphabet="ab .\n", max_size=400), st.integers(1, 50))
def test_batches_fit_and_hold_everything_once_and_in_order(text: str, chars_max: int):
    parts = batches(text, chars_max)

    assert all(part.strip() and len(part) <= chars_max for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_text_that_fits_is_one_batch():
    assert batches("one\n\ntwo", 100) == ["one\n\ntwo"]


def test_a_batch_ends_where_a_reader_would_pause():
    text = "A first sentence. A second one.\n\nAnother paragraph that goes on."

    assert batches(text, 40) == ["A first sentence. A second one.", "Another paragraph that goes on."]
