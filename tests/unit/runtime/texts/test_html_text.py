"""Pages as text: what a browser shows, laid out as notes are.

HTML that stands in Markdown is read as a browser shows it; code is left as it is.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.extraction.html_text import is_html
from hive_mind.runtime.texts import ADDRESS, document_of_html
from hive_mind.runtime.texts.text_files import Unreadable, read_document, read_text
from tests.growth import costly


def test_titles_items_and_tables_are_laid_out_as_notes_are() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><h2>Opening&nbsp;hours</h2>"
        "<p>We open at <b>nine</b>\n  sharp.<br>Ring twice.</p><ul><li>No dogs.</li><li>No <i>cats</i>.</li></ul>"
        "<table><tr><th>Day</th><th>Closes</th></tr><tr><td>Monday</td><td>17:00</td></tr></table>"
        "<script>if (1 < 2) alert('no')</script><!-- hidden --><pre>a  = 1\n  b = 2</pre></body></html>"
    )

    assert document_of_html(page).text.splitlines() == [
        "# T", "", "## Opening hours", "", "We open at nine sharp.", "Ring twice.", "", "- No dogs.", "- No cats.", "",
        "| Day | Closes |", "| --- | --- |", "| Monday | 17:00 |", "", "```", "a  = 1", "  b = 2", "```",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "body", "text"),
    [
        ("Plover", "<h2>1.0.5</h2>", "# Plover\n\n## 1.0.5\n"),
        ("Plover &amp;\n co", "<h1>1.0.5</h1><h1>1.0.4</h1>", "# Plover & co\n\n# 1.0.5\n\n# 1.0.4\n"),
        ("Plover - The docs", "<h1>Plover</h1><p>Red.", "# Plover\n\nRed.\n"),
        ("Plover", "<svg><title>An icon</title></svg><p>Red.", "# Plover\n\nRed.\n"),
        ("", "<p>Red.", "Red.\n"),
    ],
)
def test_the_title_of_a_page_stands_above_it_where_no_heading_says_it(title: str, body: str, text: str) -> None:
    assert document_of_html(f"<html><head><title>{title}</title><style>p</style></head><body>{body}").text == text
    assert document_of_html(f"<html><title>{title}</title><body>{body}").text == text


@given(st.text())
def test_any_text_is_read_without_complaint(page: str) -> None:
    assert document_of_html(page).text.endswith("\n")


@given(
    st.lists(
        st.sampled_from("<p> </p> <td> <tr> </tr> <table> <li> <pre> </pre> <h1> </h7> <script> text &amp; &#x0; <b <!--".split())
    )
)
def test_any_order_of_tags_is_read_and_no_words_are_lost(parts: list[str]) -> None:
    page = " ".join(parts)
    shown = page.partition("<script>")[0].partition("<!--")[0].partition("<b")[0]
    assert document_of_html(shown).text.split().count("text") == shown.split().count("text")
    document_of_html(page)


@pytest.mark.parametrize(
    ("link", "count"),
    [
        ('<a class=x HREF="https://x.example/a?b&amp;c">page</a>', 1),
        ("<a href=mailto:ana@x.example>Ana</a>, <a href='https://x.example/b'>b</a>", 2),
        ('<a href="https://x.example/a">https://x.example/a</a>.', 0),
        ('<a href="mailto:ana@x.example">ana@x.example</a>', 0),
        ('<a href="#below">below</a>, <a href="next.html">next</a>, <a name="here">here</a>', 0),
        ('<template><a href="https://x.example/a">a</a></template>', 0),
        ('<a href="https://x.example/a">one</a> and <a href="https://x.example/a">two</a>', 1),
    ],
)
def test_addresses_outside_of_a_page_that_are_not_in_its_text_are_counted(tmp_path: Path, link: str, count: int) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<p>See {link} for more.</p>")
    assert document_of_html(file.read_text()).left_out == read_document(file).left_out == ({ADDRESS: count} if count else {})


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
    (tmp_path / name).write_text("<html><head><title>x</title></head><body><script>1</script></body></html>")
    assert read_text(tmp_path / name) == Unreadable("is empty")


@pytest.mark.parametrize("start", ["", "<table><tr><td>", "<pre>", "<b title='"])
def test_a_page_takes_time_in_proportion_to_its_length(start: str) -> None:
    pieces = ["<a ", "<!--", '<a x="', "a<b>b</b>", "&#64;<", "<td>", "<script>", "<p>", "<div>", "</", "<!", "= ", "<a b='>"]
    assert costly(lambda text: document_of_html(f"{start}{text}>"), pieces, 10_000) == []


def test_a_number_that_is_no_character_and_a_row_that_does_not_end_are_read() -> None:
    assert document_of_html(f"<p>The pump is &#{'9' * 5_000}; red.").text == "The pump is \N{REPLACEMENT CHARACTER} red.\n"
    assert document_of_html("<table><tr><td>pump<td>red").text == "| pump | red |\n"
    assert document_of_html('<p><a title="more > less" href=x>The pump</a> is 5 < 6.').text == "The pump is 5 < 6.\n"


def test_lists_within_lists_are_set_in_and_definitions_stand_below_their_term():
    page = "<ul><li>Birch<ul><li>seats 30</li></ul></li><li><p>Oak</p></li></ul><dl><dt>Elm</dt><dd>seats 8</dd></dl>"
    assert document_of_html(page).text == "- Birch\n  - seats 30\n- Oak\n\n- Elm\n  - seats 8\n"
