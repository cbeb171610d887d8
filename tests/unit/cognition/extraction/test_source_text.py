"""Comments of any language are read as what they say of the code below them, and sections of settings as headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.cognition.extraction.source_text import is_source, notes_of_source, text_of_source
from tests.growth import costly

ABOVE = "The session lasts 45 minutes:\n\n```\n{}\n```\n"
LINES = st.sampled_from(
    ["# a", "// b", "/* c", "*/", " * d", "-- e", "", "x = 1", "[s]", "#!", "/** f */", "* g", "=====", "#", "é"]
)


@pytest.mark.parametrize(
    ("suffix", "source", "code"),
    [
        (".js", "// The session lasts\n// 45 minutes.\nconst MINUTES = 45;", "const MINUTES = 45;"),
        (".java", "/**\n * The session lasts 45 minutes.\n */\nint minutes = 45;", "int minutes = 45;"),
        (".rs", "/// The session lasts 45 minutes.\nconst M: u8 = 45;", "const M: u8 = 45;"),
        (".c", "/* The session lasts 45 minutes. */\n*minutes = 45;", "*minutes = 45;"),
        (".sh", "#!/bin/sh\n# The session lasts 45 minutes.\nMINUTES=45", "MINUTES=45"),
        (".sh", "# The session lasts 45 minutes.\n/usr/bin/session 45", "/usr/bin/session 45"),
        (".sql", "-- -----\n-- The session lasts 45 minutes.\nSET minutes = 45;", "SET minutes = 45;"),
    ],
)
def test_a_comment_above_code_brings_the_code(suffix: str, source: str, code: str):
    assert text_of_source(source, suffix) == ABOVE.format(code)


@pytest.mark.parametrize("suffix", [".ini", ".toml"])
def test_a_section_of_settings_is_the_heading_of_its_keys(suffix: str):
    source = "# Of the hub.\n\n[mailer]\nretries = 4\n\n[printer]\n# Slow.\nretries = 9\n"
    assert text_of_source(source, suffix) == "Of the hub.\n\n## mailer\n\nretries = 4\n\n## printer\n\nSlow:\n\nretries = 9\n"


@given(st.lists(LINES, max_size=12), st.sampled_from([".js", ".sh", ".sql", ".ini"]))
def test_no_line_of_code_is_lost(lines: list[str], suffix: str):
    assert is_source(suffix)
    text = text_of_source("\n".join(lines), suffix)
    assert all(word in text for line in lines for word in ("x = 1", "é") if word in line)


@pytest.mark.parametrize("suffix", [".js", ".ini"])
def test_time_grows_with_the_text_and_not_with_its_square(suffix: str):
    hostile = ["/* a\n", "// ", "# a\n\n", "[a]\n", "*/ * ", "--", "a\n# b\n"]
    assert costly(lambda text: text_of_source(text, suffix), hostile, 5_000) == []


@pytest.mark.parametrize(
    ("suffix", "code", "heading"),
    [
        (".js", "export async function submitCart(cart) {\n}", "## submitCart(cart)"),
        (".js", "const roundPrice = (cents) => cents;", "## roundPrice(cents)"),
        (".go", "func (l *Limiter) Allow(tenant string) bool {\n}", "## Allow(tenant string)"),
        (".java", "    void hold(String seat) {}", "### hold(String seat)"),
        (".rs", "pub struct Link { id: u32 }", "## Link"),
        (".sql", "CREATE INDEX by_day ON boats (day);", "## by_day"),
        (".sh", "rotate() {\n}", "## rotate()"),
    ],
)
def test_a_comment_stands_under_what_the_code_below_it_defines(suffix: str, code: str, heading: str):
    marks = {".sql": "--", ".sh": "#"}.get(suffix, "//")
    indent = code[: len(code) - len(code.lstrip())]
    assert text_of_source(f"{indent}{marks} What it is for.\n{code}", suffix).startswith(f"{heading}\n\nWhat it is for:\n")


@pytest.mark.parametrize("code", ["if (cart) {", "return total(cart);", "send(cart);", "x = total(cart);", "await send(cart)"])
def test_calls_and_conditions_define_nothing(code: str):
    assert "#" not in text_of_source(f"// Why.\n{code}", ".js")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("// Gives a seat back.\nvoid release(String seat) {}\n", "## release(String seat)"),
        ("# Image of the tracker\nFROM debian:12\nEXPOSE 8095\n", "Image of the tracker:"),
        ("-- Of the churn report.\nCREATE INDEX by_day ON boats (day);\n", "Of the churn report:"),
        ('// Between two calls.\npackage gate\n\nimport "time"\n\nconst Wait = 8 * time.Second\n', "Between two calls:"),
        ("/* Samples a second. */\n#define RATE 44100\n\n/* -1 when full. */\nint put(struct ring *r);\n", "-1 when full:"),
        (
            "# Of late books.\nclass Late\n  DAYS = 3\n\n  # Once a week.\n  def run(day)\n    tell(day)\n  end\nend\n",
            "### run(day)",
        ),
        ("#!/usr/bin/env bash\n# Runs as wiki.\nset -e\nrsync -a /srv/wiki /mnt/nas\n", "Runs as wiki:"),
        ("# local\nPORT=3300\nMAX_MB=25\n", "\nMAX_MB=25\n"),
        ('def close(self):\n    """Flush pending entries."""\n', "# close(self)"),
    ],
)
def test_source_is_known_without_a_name_of_its_file(text: str, said: str):
    assert said in str(notes_of_source(text))


@pytest.mark.parametrize(
    "text",
    [
        "# Orchid relay\n\nThe relay forwards alarms. It was switched off in March.\n",
        "The function of the mill is to grind.\n// Nobody knows why.\n",
        "# Mail relay\nserver:\n  host: relay-3\n",
        "[gate]\n# Seconds.\ntimeout = 12\n",
        "def close(self) is the last call.",
    ],
)
def test_notes_and_settings_are_no_source(text: str):
    assert notes_of_source(text) is None
