"""AsciiDoc as guides are written in it: what their pages show, and none of the marks."""

from pathlib import Path

import pytest

from hive_mind.runtime.texts.asciidoc_text import text_of_asciidoc
from hive_mind.runtime.texts.text_files import is_learned, read_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            "= Guide\n:port: 2525\n:toc:\n\n== Run\n\nIt listens on {port}, says {name}.",
            "# Guide\n\n## Run\n\nIt listens on 2525, says {name}.",
        ),
        (".Start it\n[source,bash]\n----\nrun {port} <<x>>\n----", "Start it:\n```bash\nrun {port} <<x>>\n```"),
        ("....\nplain\n....", "```\nplain\n```"),
        ("```sh\nrun\n```", "```sh\nrun\n```"),
        ("NOTE: Keep it dry.", "NOTE: Keep it dry."),
        ("[WARNING]\n.Mind\n====\nIt is hot.\n====", "Mind:\nIt is hot."),
        ("////\nhidden\n////\n// hidden\nShown.", "Shown."),
        ("* One\n** Two\n. First\n.. Second", "- One\n  - Two\n1. First\n  1. Second"),
        ("Queue:: Where mails wait.\nRelay::\nSends.", "- Queue\n  - Where mails wait.\n- Relay\n  - Sends."),
        ("|===\n|Limit |Size\n\n|Mail\n|25 MB\n|===", "| Limit | Size |\n| --- | --- |\n| Mail | 25 MB |"),
        ('[cols="1,2*"]\n|===\n|a |b |c\n|d |e\nmore |f\n|===', "| a | b | c |\n| d | e more | f |"),
        ('[%header,cols="1,1"]\n|===\n|Limit\n|Size\n|Mail\n|x\n|===', "| Limit | Size |\n| --- | --- |\n| Mail | x |"),
        ("See <<limits,the limits>>, <<_two>> and https://x.example[the site^].", "See the limits, two and the site."),
        ("Press kbd:[Ctrl] in menu:File[Save].footnote:[By Ines.]", "Press Ctrl in File > Save. (By Ines.)"),
        ("[[here]]Text image:x.png[a picture] goes on.\n\nimage::x.png[]\n+\ninclude::other.adoc[]", "Text  goes on."),
        ("See https://x.example/a::b for more", "See https://x.example/a::b for more"),
        (
            "Run\n---\n\n-f::\n--force::\n\tBuild it\n\tanew.\n+\nIt takes\nlong.",
            "## Run\n\n- -f, --force\n  - Build it anew.\n  - It takes long.",
        ),
        ("hook\n~~~~\n----\nrun\n----\nlinkman:log[1] ends.", "### hook\n```\nrun\n```\nlog(1) ends."),
        ("----\nnever ends", "```\nnever ends\n```"),
    ],
)
def test_it_reads_as_its_page(written: str, shown: str) -> None:
    assert text_of_asciidoc(written) == f"{shown}\n"


def test_files_of_it_are_read_so_and_a_text_that_is_written_in_it_needs_no_such_name(tmp_path: Path) -> None:
    (tmp_path / "guide.adoc").write_text("= Guide\n\nIt is hot.")
    assert is_learned(tmp_path / "guide.adoc")
    assert read_text(tmp_path / "guide.adoc") == "# Guide\n\nIt is hot.\n"
    (tmp_path / "clean.txt").write_text("clean(1)\n========\n\n[verse]\nclean [-f]\n\n-f::\n\tReally.\n\n-n::\n\tOnly show.\n")
    assert read_text(tmp_path / "clean.txt").startswith("# clean(1)\n\nclean [-f]\n\n- -f\n  - Really.")
    (tmp_path / "notes.txt").write_text("Notes\n=====\n\nThe pump::\n\n    run\n")
    assert read_text(tmp_path / "notes.txt").startswith("Notes\n=====")
