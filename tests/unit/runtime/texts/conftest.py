"""Documents that are read in the process of the test."""

import pytest

from hive_mind.runtime.texts import Document, Unreadable, document, text_files


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """To begin another process takes longer than to read; that it does it, `test_hostile_documents` shows."""

    def read(name: str, body: bytes) -> Document | Unreadable:
        said = document._said(name, body)
        return Unreadable(str(said["refused"])) if "refused" in said else Document(said["text"], said["left_out"])  # type: ignore[arg-type]

    monkeypatch.setattr(text_files, "read_apart", read)
