"""Which configuration is meant, and whether a model has to be loaded for it."""

import pytest

from hive_mind.cli.retrieval.workspaces import config_of, folder_of, golden_of, index_summary, known, settings_of, usable
from hive_mind.errors import InvalidInput, WorkspaceError
from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.updating import Indexed
from tests.unit.retrieval.workspaces import workspace

KEYWORD = '{"name": "v1", "collection": "kb", "retrieval": {"method": "keyword"}}'


def test_the_workspace_is_in_the_home_folder_unless_another_one_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HIVE_MIND_HOME", str(tmp_path))

    assert folder_of(None) == tmp_path / "retrieval"
    assert folder_of(tmp_path / "search") == tmp_path / "search"


def test_a_configuration_is_meant_by_its_name_or_file_or_else_the_active_or_only_one(tmp_path):
    here = workspace(tmp_path)
    assert config_of(here, "").name == "v1"
    assert known(here, str(tmp_path / "configs" / "v1.json")) == "v1"
    with pytest.raises(InvalidInput, match="did you mean v1"):
        known(here, "v11")

    (tmp_path / "configs" / "v2.json").write_text('{"name": "v2", "collection": "kb"}')
    with pytest.raises(InvalidInput, match="there are v1, v2"):
        config_of(here, "")
    (tmp_path / "configs" / "active.json").write_text('{"config": "v1"}')
    assert [config_of(here, name).name for name in ("", "active", "v2")] == ["v1", "v1", "v2"]


def test_what_is_wrong_with_a_file_keeps_it_from_being_measured_and_what_is_odd_is_said(tmp_path, capsys):
    here = workspace(tmp_path, config='{"name": "v1", "collection": "kb",\n"dynamic_k": {"max_results": 5}}')
    assert usable(here, here.config("v1")).name == "v1"
    assert "note: v1.json:2: dynamic_k.max_results: has no effect" in capsys.readouterr().err

    here = workspace(tmp_path, config='{"name": "v1", "collection": "kb",\n"filters": {"color": ["red"]}}')
    with pytest.raises(WorkspaceError, match=r"v1\.json:2: filters\.color"):
        usable(here, here.config("v1"))


def test_without_questions_nothing_can_be_measured(tmp_path):
    here = workspace(tmp_path, config=KEYWORD)
    here.golden_file.unlink()

    with pytest.raises(InvalidInput, match="write questions"):
        golden_of(here, here.config("v1"))


def test_a_model_is_loaded_only_for_what_looks_at_meaning(monkeypatch):
    monkeypatch.setenv("HIVE_MIND_EMBED", "sentence_transformers")
    words = RetrievalConfig.model_validate({"name": "words", "retrieval": {"method": "keyword"}})
    meaning = RetrievalConfig.model_validate({"name": "meaning"})

    assert settings_of([words], None, None).embed == "none"
    assert settings_of([words, meaning], None, None).embed == "sentence_transformers"
    assert settings_of([words], "openai", None).embed == "openai"


def test_what_an_update_did_is_one_line():
    assert (
        index_summary(Indexed(added=2, unchanged=40, embedded=7, chunks=150))
        == "documents 2 added, 40 unchanged; 150 chunks, 7 texts embedded"
    )
    assert index_summary(Indexed()) == "documents none; 0 chunks"
