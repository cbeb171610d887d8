"""Notebooks of Jupyter: their Markdown as its page shows it, and their code. What code printed is left out, and counted."""

import json
from typing import Any

from hive_mind.runtime.texts import table
from hive_mind.runtime.texts.document import Document, Refused
from hive_mind.runtime.texts.markdown_text import shown_in_markdown

SUFFIXES = (".ipynb",)
PACKAGE = ""

# In the format of before 2014 cells lie in sheets, and headings are cells.
_BODIES = ("source", "input")


def is_one(_: bytes) -> bool:
    """JSON that its name tells from other JSON."""
    return False


def read(body: bytes) -> Document:
    notebook = json.loads(body.decode("utf-8", "replace"))
    if not isinstance(notebook, dict):
        raise Refused("is no notebook: it holds no cells")
    sheets = [notebook, *_entries(notebook.get("worksheets"))]
    cells = [cell for sheet in sheets for cell in _entries(sheet.get("cells"))]
    kernel = (notebook.get("metadata") or {}).get("kernelspec") or {}
    language = str(kernel.get("language") or "")
    outputs = sum(len(_entries(cell.get("outputs"))) for cell in cells)
    return Document("\n\n".join(_text(cell, language) for cell in cells), table.found({"output of code": outputs}))


def _entries(values: object) -> list[dict[str, Any]]:
    return [entry for entry in values if isinstance(entry, dict)] if isinstance(values, list) else []


def _text(cell: dict[str, Any], language: str) -> str:
    body = next((cell[name] for name in _BODIES if name in cell), "")
    text = "".join(map(str, body)) if isinstance(body, list) else str(body)
    match cell.get("cell_type"):
        case "code":
            return f"```{language}\n{text}\n```" if text.strip() else ""
        case "heading":
            return f"{'#' * int(cell.get('level') or 1)} {text}"
    return shown_in_markdown(text)
