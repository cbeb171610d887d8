"""What stands on the page can't break out of it."""

from html import unescape
from html.parser import HTMLParser
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.evals.report.markup import Column, joined, table, tag
from hive_mind.printable import in_one_line


class Seen(HTMLParser):
    """What a browser would take a text for."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


@given(st.text(), st.text())
def test_whatever_is_written_stays_text(words, hint):
    seen = Seen()

    seen.feed(tag("p", words, title=hint))

    assert seen.tags == ["p"]
    assert seen.attributes == [("title", in_one_line(hint))]
    assert seen.words == unescape(joined(words))


def test_markup_is_not_escaped_twice_and_other_text_is():
    assert tag("p", tag("b", "1 < 2"), " & more") == "<p><b>1 &lt; 2</b> &amp; more</p>"


def test_an_attribute_that_is_none_or_false_is_left_out():
    assert tag("th", "a", scope="col", class_=None, hidden=False, tabindex=0) == '<th scope="col" tabindex="0">a</th>'


def test_characters_that_turn_the_direction_or_are_not_seen_are_replaced():
    assert in_one_line("a\u202eb\x00c\x1b[1md") == "a\ufffdb\ufffdc\ufffd[1md"
    assert in_one_line("two\nlines") == "two lines"


def test_a_row_begins_with_its_heading_and_every_column_has_one():
    shown = table(
        "Facts", (Column("arm", itemgetter(0)), Column("recall", itemgetter(1))), [("single", "0.5"), ("<flat>", "0.4")]
    )

    assert shown.count('<th scope="row">') == 2
    assert shown.count('scope="col"') == 2
    assert "&lt;flat&gt;" in shown
    assert "<caption>Facts" in shown


def test_a_table_without_rows_is_nothing():
    assert table("Facts", (Column("arm", str),), []) == ""
