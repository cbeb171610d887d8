"""The published JSON Schemas are those of the models."""

import json
from pathlib import Path

import pytest

from hive_mind.forms import schema_of
from hive_mind.forms.trees import json_tree
from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN
from tests.unit.retrieval.workspaces import public, workspace

DOCS = Path(__file__).parents[3] / "docs"
PUBLISHED = {"config": CONFIG, "collection": COLLECTION, "golden": GOLDEN, "active": ACTIVE}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_schema_is_the_current_one(name):
    """If this fails: write `json.dumps(schema_of(FORM), indent=2)` to docs/retrieval.NAME.schema.json."""
    assert json.loads((DOCS / f"retrieval.{name}.schema.json").read_text("utf-8")) == schema_of(PUBLISHED[name])


@pytest.mark.parametrize(
    ("file", "name"),
    [("configs/v1-naive.json", "config"), ("collections/knowledge-base.json", "collection"), ("evals/golden.json", "golden")],
)
def test_files_of_the_public_layout_fit_the_published_schemas(file, name, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    tree, problems = json_tree((public(tmp_path).root / file).read_text(), PUBLISHED[name])

    assert problems == ()
    assert tree is not None
    jsonschema.validate(tree.value, schema_of(PUBLISHED[name]))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_schema_refuses_what_nobody_knows(name):
    jsonschema = pytest.importorskip("jsonschema")

    with pytest.raises(jsonschema.ValidationError, match="zzz"):
        jsonschema.validate({"zzz": 1, "name": "x", "config": "x", "queries": [{"query": "x"}]}, schema_of(PUBLISHED[name]))


def test_a_file_may_say_which_schema_an_editor_should_use(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    told = '{"$schema": "../docs/retrieval.config.schema.json", "name": "v1", "collection": "kb"}'

    assert workspace(tmp_path, config=told).config("v1") == RetrievalConfig(name="v1", collection="kb")
    jsonschema.validate(json.loads(told), schema_of(CONFIG))
