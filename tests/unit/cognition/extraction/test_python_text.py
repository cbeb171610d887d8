"""Source code says in docstrings and constants what people ask about."""

import pytest

from hive_mind.cognition.extraction.source_text import text_of_python

SOURCE = '''"""Locks of the canal."""

# Metres; boats are shorter.
LENGTH_MAX = 40
GATES: int = 4
lower = 1


class Lock:
    """One lock.

    It has two gates.
    """

    depth = 3
    """In metres."""

    def open(self, slowly: bool = True):
        """Open the upper gate."""

    def shut(self):
        pass


async def keeper(name):
    """Find the keeper by name."""
'''


def test_docstrings_stand_under_what_they_document_and_constants_with_their_remarks():
    assert text_of_python(SOURCE, "locks.py").split("\n\n") == [
        "# locks.py",
        "Locks of the canal.",
        "LENGTH_MAX = 40 (Metres; boats are shorter.)",
        "GATES = 4",
        "lower = 1",
        "## Lock",
        "One lock.",
        "It has two gates.",
        "depth = 3 (In metres.)",
        "### open(self, slowly: bool=True)",
        "Open the upper gate.",
        "## keeper(name)",
        "Find the keeper by name.\n",
    ]


@pytest.mark.parametrize("source", ["def (", "x = y\n", "", "\0", "(" * 5000])
def test_what_says_nothing_or_is_no_python_stays(source: str):
    assert text_of_python(source, "a.py") == source


def test_a_name_tells_the_unit_of_its_number_and_a_function_its_defaults():
    source = (
        "RETRY_SECONDS = 15\nsize_mb = 40\nplace = os.getcwd()\ndef send(path, tries=3, *, wait_s=2.5, dry=False, to=None): ...\n"
    )
    assert text_of_python(source, "a.py").split("\n\n") == [
        "# a.py",
        "RETRY_SECONDS = 15 seconds",
        "size_mb = 40 MB",
        "## send(path, tries=3, *, wait_s=2.5, dry=False, to=None)",
        "tries = 3 (default)",
        "wait_s = 2.5 seconds (default)\n",
    ]


def test_a_function_is_read_in_one_case_or_another_and_a_remark_in_an_example_is_no_heading():
    source = (
        "try:\n    import os\nexcept ImportError:\n    pass\nelse:\n    if os:\n        def usage():\n"
        "            '''Return it.\n\n            # x is old\n            x = 1  # y\n            '''\n"
        "    elif 1:\n        def other():\n            '''Nothing.'''\n"
    )
    lines = ["# a.py", "## usage()", "Return it.", " x is old\nx = 1  # y", "## other()", "Nothing.\n"]
    assert text_of_python(source, "a.py").split("\n\n") == lines
