"""Source code says in docstrings and constants what people ask about."""

import pytest

from hive_mind.runtime.texts.python_text import text_of_python

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
        "## Lock",
        "One lock.",
        "It has two gates.",
        "depth = 3 (In metres.)",
        "### open(self, slowly: bool=True)",
        "Open the upper gate.",
        "## keeper(name)",
        "Find the keeper by name.\n",
    ]


@pytest.mark.parametrize("source", ["def (", "x = 1\n", "", "\0", "(" * 5000])
def test_what_says_nothing_or_is_no_python_stays(source: str):
    assert text_of_python(source, "a.py") == source
