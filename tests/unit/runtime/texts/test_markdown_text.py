"""HTML that stands in Markdown is read as a browser shows it; code is left as it is."""

from pathlib import Path

import pytest

from hive_mind.runtime.texts.html_text import shown_in_markdown
from hive_mind.runtime.texts.text_files import read_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<b>Never</b> edit it.", "Never edit it."),
        ("One<br/>two &amp; three.", "One two & three."),
        ('<p align="center">A <a href="x">link</a></p>', "A link"),
        ("Type `<b>` for bold &lt;b&gt;.", "Type `<b>` for bold <b>."),
        (
            "a < b and c > d, List<String>, https://x.example/?a=1&copy=2",
            "a < b and c > d, List<String>, https://x.example/?a=1&copy=2",
        ),
        ("Before <!-- hidden --> after.", "Before  after."),
        ("Before\n<!-- hidden\nstill --> after\nend", "Before\n\n after\nend"),
        ("```html\n<b>code</b>\n```\n<i>text</i>", "```html\n<b>code</b>\n```\ntext"),
        ("Text:\n\n    <b>code</b>", "Text:\n\n    <b>code</b>"),
    ],
)
def test_tags_go_and_code_stays(written: str, shown: str) -> None:
    assert shown_in_markdown(written) == shown


def test_a_file_of_markdown_is_read_so_and_another_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("<b>Never</b> edit it.")
    (tmp_path / "a.txt").write_text("<b>Never</b> edit it.")
    assert read_text(tmp_path / "a.md") == "Never edit it."
    assert read_text(tmp_path / "a.txt") == "<b>Never</b> edit it."


def test_a_megabyte_of_half_a_tag_is_read_at_once() -> None:
    assert shown_in_markdown("<b " * 300_000)
