"""Pages as text: what a browser shows, laid out as notes are."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runtime.texts.html_text import is_html, text_of_html
from hive_mind.runtime.texts.text_files import Unreadable, read_text


def test_titles_items_and_tables_are_laid_out_as_notes_are() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><h2>Opening&nbsp;hours</h2>"
        "<p>We open at <b>nine</b>\n  sharp.<br>Ring twice.</p><ul><li>No dogs.</li><li>No <i>cats</i>.</li></ul>"
        "<table><tr><th>Day</th><th>Closes</th></tr><tr><td>Monday</td><td>17:00</td></tr></table>"
        "<script>if (1 < 2) alert('no')</script><!-- hidden --><pre>a  = 1\n  b = 2</pre></body></html>"
    )

    assert text_of_html(page).splitlines() == [
        "## Opening hours", "", "We open at nine sharp.", "Ring twice.", "", "- No dogs.", "- No cats.", "",
        "| Day | Closes |", "| --- | --- |", "| Monday | 17:00 |", "", "```", "a  = 1", "  b = 2", "```",
    ]  # fmt: skip


@given(st.text())
def test_any_text_is_read_without_complaint(page: str) -> None:
    assert text_of_html(page).endswith("\n")


@given(
    st.lists(
        st.sampled_from("<p> </p> <td> <tr> </tr> <table> <li> <pre> </pre> <h1> </h7> <script> text &amp; &#x0; <b <!--".split())
    )
)
def test_any_order_of_tags_is_read_and_no_words_are_lost(parts: list[str]) -> None:
    page = " ".join(parts)
    shown = page.partition("<script>")[0].partition("<!--")[0].partition("<b")[0]
    assert text_of_html(shown).split().count("text") == shown.split().count("text")
    text_of_html(page)


@pytest.mark.parametrize(
    ("text", "is_page"),
    [("<!doctype HTML>\n<p>x", True), ("  <html lang=en>", True), ("<b>bold</b> words", False), ("a < b and html", False)],
)
def test_a_page_is_known_by_its_beginning(text: str, is_page: bool) -> None:
    assert is_html(text) is is_page


@pytest.mark.parametrize("name", ["page.html", "page.HTM", "saved.txt"])
def test_a_file_that_is_a_page_is_read_as_its_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("<html><body><p>The pump is <b>red</b>.</p></body></html>")
    assert read_text(tmp_path / name) == "The pump is red.\n"


def test_a_page_that_shows_nothing_is_empty(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<html><head><title>x</title></head><body><script>1</script></body></html>")
    assert read_text(tmp_path / "page.html") == Unreadable("is empty")
