"""Settings come from the environment and have defaults that need nothing."""

from pathlib import Path

import pytest

import hive_mind
from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import Settings, secret


def test_an_empty_environment_gives_the_defaults():
    assert Settings.from_environment({}) == Settings()
    assert Settings.from_environment({"HIVE_MIND_STORE": "", "HIVE_MIND_TOKEN_BUDGET": "", "HOME": "elsewhere"}) == Settings()


def test_only_who_asks_for_the_environment_gets_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HIVE_MIND_EMBED", "none")
    assert (Settings().embed, Settings.from_environment().embed) == ("sentence_transformers", "none")


def test_what_shows_programs_how_to_begin_asks_for_it():
    told = [hive_mind.__doc__ or "", (Path(__file__).parents[3] / "README.md").read_text("utf-8")]
    assert [("Settings.from_environment()" in text, "Settings()," in text) for text in told] == [(True, False)] * 2


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "1e3", " 7", "²", "0x10", "9" * 5_000], ids=lambda text: text[:5])
def test_a_number_that_is_none_is_refused_by_its_name(text: str):
    with pytest.raises(InvalidInput, match="HIVE_MIND_TOKEN_BUDGET"):
        Settings.from_environment({"HIVE_MIND_TOKEN_BUDGET": text})


def test_a_secret_is_read_when_it_is_used_and_never_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HIVE_MIND_LLM_KEY", "sesame")
    monkeypatch.delenv("HIVE_MIND_EMBED_KEY", raising=False)
    assert (secret("LLM_KEY"), secret("EMBED_KEY")) == ("sesame", "")
    assert "sesame" not in repr(Settings.from_environment({"HIVE_MIND_LLM_KEY": "sesame"}))
