"""Examples as the source documents print them, for tests that run them as they stand; skipped where the documents are not."""

import os
import re
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "seeds"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def printed(document: str, begins: str) -> list[str]:
    """All Python examples of a document that begin with `begins`, without leading comments."""
    folder = Path(os.environ.get("HIVE_MIND_DOCUMENTS") or _BESIDE)
    (path,) = list(folder.glob(f"{document}*.md")) or [None]
    if path is None:
        pytest.skip(f"no document {document} in {folder}; set HIVE_MIND_DOCUMENTS to the folder that holds it")
    blocks = (re.sub(r"\A(?:#.*\n)+", "", block) for block in _BLOCK.findall(path.read_text("utf-8")))
    return [block for block in blocks if block.startswith(begins)]
