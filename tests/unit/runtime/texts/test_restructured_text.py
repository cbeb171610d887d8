"""reStructuredText as people of Python and Sphinx write it: what its page shows, and nothing of how it is made."""

from pathlib import Path

import pytest

from hive_mind.runtime.texts import Document
from hive_mind.runtime.texts.formats import read_restructured_text
from hive_mind.runtime.texts.text_files import document_in, is_learned


def shown(text: str) -> str:
    return read_restructured_text(text.encode()).text


PAGE = """
==========
 Retrying
==========

.. contents::

The :class:`~retrykit.Retrier` is in :mod:`retrykit`; see :ref:`the guide <guide>`, `its page <https://x.example>`_ and |also|_.

.. |also| replace:: more pages
.. _also: https://x.example/more
.. |badge| image:: https://x.example/badge.svg

.. versionadded:: 2.1
.. versionchanged:: 3.0
   The usual pause is 250 ms.
.. deprecated:: 3.2 Use ``Backoff`` instead.

.. py:function:: retry(call, *, times=5)

   Calls it at most *times* times.

   :raises Exhausted: if no try worked

.. envvar:: RETRY_LIMIT

   Default is 20.

.. note:: Pauses double.

.. house-style:: A heading of our own
   :colour: red

   Never retry payments.

.. admonition:: Since May

   Payments are safe.

.. code-block:: console
   :caption: a shell

   $ retry --times 4 fetch

Timing::

    $ retry --times 5 fetch

pause : float, optional
    Seconds between tries. [default: 0.25]

========  =======
Name      Default
========  =======
times     5
========  =======

+-------+----------+
| Plan  | Price    |
+=======+==========+
| Team  | 40 euros |
+-------+----------+

.. list-table::
   :header-rows: 1

   * - Limit
     - Size
   * - Body
     - 5 MB

.. figure:: queue.png
   :no-such-option: x

   The queue at noon.

.. A remark of the author.

Later
-----

It was signed by Mara [1]_.

.. [1] Mara Voss leads the releases.

.. only:: html

   It is kept for seven years.

.. toctree::

   introduction
"""


LINES = (
    "# Retrying",
    "The Retrier is in retrykit; see the guide, its page and more pages.",
    "Added in version 2.1.",
    "Changed in version 3.0: The usual pause is 250 ms.",
    "Deprecated since version 3.2: Use Backoff instead.",
    "- retry(call, *, times=5)",
    "  - Calls it at most times times.",
    "  - raises Exhausted:",
    "    - if no try worked",
    "- RETRY_LIMIT",
    "  - Default is 20.",
    "Pauses double.",
    "- A heading of our own",
    "  - Never retry payments.",
    "Since May: Payments are safe.",
    "```\n$ retry --times 4 fetch\n```",
    "```\n$ retry --times 5 fetch\n```",
    "- pause: float, optional",
    "  - Seconds between tries. [default: 0.25]",
    "| Name | Default |\n| --- | --- |",
    "| times | 5 |",
    "| Plan | Price |\n| --- | --- |",
    "| Team | 40 euros |",
    "| Limit | Size |\n| --- | --- |",
    "| Body | 5 MB |",
    "   The queue at noon.",
    "## Later",
    "Mara Voss leads the releases.",
    "It is kept for seven years.",
)
MARKUP = ("::\n", ":class:", "~", "<guide>", "_.", "====", "+--", "badge", "remark", "introduction", ".. v")


def test_each_construct_reads_as_on_its_page_and_nothing_of_the_markup_is_left() -> None:
    page = shown(PAGE)
    assert [line for line in LINES if f"\n{line}\n" not in f"\n{page}"] == []
    assert [mark for mark in MARKUP if mark in page] == []


def test_a_version_that_only_an_option_names_is_a_title() -> None:
    change = "   .. change::\n      :tags: bug\n\n      It is dry.\n"
    pages = (f".. changelog::\n   :version: 1.{minor}\n   :released: May {minor}, 2026\n\n{change}" for minor in (5, 4))
    assert shown("Changes\n=======\n\n" + "\n".join(pages)) == (
        "# Changes\n\n## 1.5 (May 5, 2026)\n\nIt is dry.\n\n## 1.4 (May 4, 2026)\n\nIt is dry.\n"
    )


def test_plain_text_under_its_name_is_read_as_it_is() -> None:
    assert shown("The pump costs 5 euros.\nIt is *red.\n") == "The pump costs 5 euros. It is *red.\n"


def test_a_folder_gives_it_and_another_encoding_is_detected() -> None:
    assert is_learned(Path("notes.rst"))
    document = document_in(Path("notes.rst"), "Die Größe beträgt 5 Meter.".encode("cp1252"))
    assert isinstance(document, Document)
    assert "Größe beträgt" in document.text


def test_pictures_and_files_that_it_would_include_are_counted() -> None:
    text = ".. image:: a.png\n\n.. include:: b.txt\n\n.. literalinclude:: c.py\n\nA line.\n"
    assert read_restructured_text(text.encode()) == Document("A line.\n", {"picture": 1, "included file": 2})


def test_no_file_is_read_for_it(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The key is 4711.")
    for directive in ("include:: ", "literalinclude:: ", "raw:: html\n   :file: ", "csv-table:: keys\n   :file: "):
        assert "4711" not in shown(f".. {directive}{tmp_path}/secret.txt\n\nA line.\n")


def test_parts_that_lie_in_one_another_too_deeply_for_a_page_stay_as_they_are_written() -> None:
    deep = "".join(f"{'  ' * depth}* item\n\n" for depth in range(400)) + "  " * 400 + "* deepest\n"
    document = read_restructured_text(deep.encode())
    assert ("* deepest" in document.text, document.left_out) == (True, {"markup that can't be read": 1})


@pytest.mark.parametrize("mark", ["*", "`", "|", "_`", "[", ":a:`"])
def test_marks_that_nothing_ends_lose_no_word(mark: str) -> None:
    assert shown(f"{mark}a " * 300).count("a ") >= 299
