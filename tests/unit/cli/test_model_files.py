"""Whether an embedding model is on this machine."""

import pytest

from hive_mind.cli.doctor import where_model_is


def test_a_folder_with_a_models_files_is_one(tmp_path):
    for name in ("modules.json", "config.json"):
        (tmp_path / name).write_text("{}")
    assert where_model_is(str(tmp_path)) == str(tmp_path)


def test_any_other_folder_is_none(tmp_path):
    assert where_model_is(str(tmp_path)) == ""


@pytest.mark.parametrize(
    "name", ["nobody-ever/made-this-model", "/no/such/folder", "made-up", "a b\0c", "x" * 300, "~nobody-here/model"]
)
def test_a_model_that_is_not_here_is_told_without_asking_the_network(name):
    assert where_model_is(name) == ""
