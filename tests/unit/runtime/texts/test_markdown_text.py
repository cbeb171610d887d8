"""Markdown as the generators of documentation write it: what their pages show, and none of their marks."""

from pathlib import Path

import pytest

from hive_mind.runtime.texts.markdown_text import shown_in_markdown
from hive_mind.runtime.texts.text_files import is_learned, read_text


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


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("!!! note\n    Keep it dry.\n\nNext.", "Keep it dry.\n\nNext."),
        ('!!! danger "Quota reached"\n    Uploads fail.', "Quota reached: Uploads fail."),
        ('??? tip "Room"\n\n    ```sh\n    zstd a\n    ```', "\nRoom:\n```sh\nzstd a\n```"),
        ("??? note\n    - a\n\n        !!! tip\n            Deep.\n    - b\nout", "- a\n\n    Deep.\n- b\nout"),
        ('=== "Go"\n\n    Call `Raise()`.\n\n=== "C"\n\n    Call `up()`.', "\nGo: Call `Raise()`.\n\n\nC: Call `up()`."),
        (":::note\nFive tries.\n:::", "Five tries."),
        (":::warning[Payments]\nNever retry.\n:::\nNext.", "Payments: Never retry.\nNext."),
        ("::: tip Be quick\n- Run it.\n:::", "Be quick:\n- Run it."),
        ("> [!WARNING]\n> It deletes files.", "> It deletes files."),
        ("> [!tip]- Folded\n> It deletes files.", "Folded:\n> It deletes files."),
        ('{% hint style="info" %}\nA team has 40 GB.\n{% endhint %}', "A team has 40 GB."),
        ('{% tab title="Go" %}\n```go\nx()\n```\n{% endtab %}\n{% tab title="C" %}\nText.', "Go:\n```go\nx()\n```\nC: Text."),
        ('{% include note.html content="Counted by month." %}', "Counted by month."),
        ('{% include note.html\n   content="Counted by month." %}\nNext.', "Counted by month.\nNext."),
        ('{{< alert title="Kept" >}}\nFor 35 days.\n{{< /alert >}}', "Kept: For 35 days."),
        ("{{% notice warning %}}\nNeeds a key.\n{{% /notice %}}", "Needs a key."),
        ('{{< tab header="Linux" >}}apt install x{{< /tab >}}', "Linux: apt install x"),
        ('The port is {{< param "port" >}}.', 'The port is {{< param "port" >}}.'),
        ("It {% if beta %}may{% endif %} grow.", "It may grow."),
        ("# Title {#id .wide}\n\nText. {: .note}", "# Title\n\nText."),
        ("A claim.[^1]\n\n[^1]: By Ines.", "A claim.\n\nBy Ines."),
        ('<Note type="info">Costs 2 cents.</Note>', "Costs 2 cents."),
        ('<Card title="Fees" />\nThey are paid monthly.', "Fees: They are paid monthly."),
        ("import Tabs from '@theme/Tabs';\nexport const limit = 5;\n<Tabs>\nText {/* no */}.\n</Tabs>", "Text ."),
        ("One.\n{% tab title='x'", "One.\n{% tab title='x'"),
    ],
)
def test_marks_of_site_generators_go_and_their_words_stay(written: str, shown: str) -> None:
    assert shown_in_markdown(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "```jinja\n{% if beta %}\n!!! note\n:::tip\n[^1]\n```",
        "Write `{% raw %}` and `{{< ref >}}`, and `<Tabs>`.",
        "    {% include x.html %}\n    !!! note",
        "It renders {{ .Title }} and {{ page.title }}, ${HOME}, {a: 1} and {name}.",
        "Wow!!! note the date. Why ??? I ask === that.",
        "Title\n=====\n\nText ::: more text\n\n=== Title of a wiki ===",
        "A List<String> and a Map<Key, Value> of <Name>.",
        "a[^2] is no footnote of `x[^1]`"[15:],
        "import numpy as np\nexport const x = 1",
        "See [!important] and [link](x.md).",
        "It matches [^a-z] and returns {:ok, pid}.",
    ],
)
def test_code_and_signs_that_mean_themselves_stay(text: str) -> None:
    assert shown_in_markdown(text) == text


def test_words_of_a_tag_that_never_ends_stay_and_a_megabyte_of_half_a_tag_is_read_at_once() -> None:
    lines = ["{% tab", *(f"line {number}" for number in range(60))]
    assert shown_in_markdown("\n".join(lines)).split("\n") == lines
    assert shown_in_markdown("<b " * 300_000)


@pytest.mark.parametrize("name", ["page.md", "page.mdx", "report.qmd", "report.Rmd"])
def test_files_of_markdown_also_of_components_and_notebooks_are_read_so_and_others_not(tmp_path: Path, name: str) -> None:
    for file in (tmp_path / name, tmp_path / "page.txt"):
        file.write_text("<Note>Costs <b>2</b> cents.</Note>")
    assert is_learned(tmp_path / name)
    assert read_text(tmp_path / name) == "Costs 2 cents."
    assert read_text(tmp_path / "page.txt") == "<Note>Costs <b>2</b> cents.</Note>"
