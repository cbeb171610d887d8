"""Files of a workspace fit the JSON Schemas of their kinds, and may name them for editors."""

import json

import pytest

from hive_mind.forms import schema_of
from hive_mind.forms.trees import json_tree
from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.workspace import COLLECTION, CONFIG, GOLDEN
from tests.unit.retrieval.workspaces import public, workspace


@pytest.mark.parametrize(
    ("file", "form"),
    [("configs/v1-naive.json", CONFIG), ("collections/knowledge-base.json", COLLECTION), ("evals/golden.json", GOLDEN)],
)
def test_files_of_the_public_layout_fit_the_schemas(file, form, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    tree, problems = json_tree((public(tmp_path).root / file).read_text(), form)

    assert problems == ()
    assert tree is not None
    jsonschema.validate(tree.value, schema_of(form))


def test_a_file_may_say_which_schema_an_editor_should_use(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    told = '{"$schema": "../docs/retrieval.config.schema.json", "name": "v1", "collection": "kb"}'

    assert workspace(tmp_path, config=told).config("v1") == RetrievalConfig(name="v1", collection="kb")
    jsonschema.validate(json.loads(told), schema_of(CONFIG))
