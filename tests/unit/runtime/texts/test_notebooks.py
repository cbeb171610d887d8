"""Notebooks of Jupyter: what their people wrote, of both formats, and nothing of what only programs read."""

import json
from pathlib import Path

import pytest

from hive_mind.runtime.texts import Document, Unreadable
from hive_mind.runtime.texts.text_files import document_in, is_learned

CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Churn\n", "\n", "> [!NOTE]\n", "It fell to <b>3.1 %</b> in May."]},
    {"cell_type": "code", "source": "rows = load()\nrows", "outputs": [{"text": ["4100\n"]}, {"data": {"image/png": "aaaa"}}]},
    {"cell_type": "code", "source": "", "outputs": []},
]
SHOWN = "# Churn\n\nIt fell to 3.1 % in May.\n\n```python\nrows = load()\nrows\n```\n\n"


def notebook(body: object) -> Document | Unreadable:
    return document_in(Path("study.ipynb"), json.dumps(body).encode())


def test_markdown_and_code_are_read_and_outputs_are_counted() -> None:
    assert is_learned(Path("study.ipynb"))
    body = {"cells": CELLS, "metadata": {"kernelspec": {"name": "python3", "language": "python"}}, "nbformat": 4}
    assert notebook(body) == Document(SHOWN, {"output of code": 2})


def test_the_former_format_has_sheets_and_headings() -> None:
    former = [{"cell_type": "heading", "level": 2, "source": "Churn"}, {"cell_type": "code", "input": "load()"}]
    assert notebook({"worksheets": [{"cells": former}], "nbformat": 3}) == Document("## Churn\n\n```\nload()\n```")


@pytest.mark.parametrize("body", [[], 7, {"cells": 7}, {"cells": ["a"]}, {"metadata": 7, "cells": [{"source": {"a": 1}}]}])
def test_what_is_no_notebook_is_refused_or_shows_what_it_has(body: object) -> None:
    document = notebook(body)
    assert isinstance(document, Document) or document.reason.startswith(("is no notebook", "holds no text", "is damaged"))
