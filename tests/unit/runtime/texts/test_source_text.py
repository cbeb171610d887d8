"""Comments of any language are read as what they say of the code below them, and sections of settings as headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.runtime.texts.source_text import is_source, text_of_source
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
    assert costly(lambda text: text_of_source(text, suffix), hostile, 20_000) == []
