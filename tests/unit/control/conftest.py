"""What tests of control share."""

import os

import pytest


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls a plug here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
