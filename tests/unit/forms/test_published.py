"""Of each kind of file: its published JSON Schema is the current one and refuses what nobody knows, and its fields say what they
are."""

import json
from pathlib import Path

import pytest
import yaml

from hive_mind.control.manifests import MANIFEST
from hive_mind.forms import everywhere, explained, schema_of
from hive_mind.goals.goal import GOAL, first_goal
from hive_mind.judge.rules import RULES
from hive_mind.retrieval.workspace import ACTIVE, COLLECTION, CONFIG, GOLDEN
from hive_mind.runs.worker_file import WORKER

DOCS = Path(__file__).parents[3] / "docs"
FORMS = {"manifest": MANIFEST, "goal": GOAL, "rules": RULES, "worker": WORKER}
FORMS |= {"retrieval.config": CONFIG, "retrieval.collection": COLLECTION, "retrieval.golden": GOLDEN, "retrieval.active": ACTIVE}


@pytest.mark.parametrize("name", FORMS)
def test_the_published_schema_is_the_current_one(name: str) -> None:
    """If this fails: write `json.dumps(schema_of(FORM), indent=2, ensure_ascii=False)` there."""
    assert json.loads((DOCS / f"{name}.schema.json").read_text("utf-8")) == schema_of(FORMS[name])


def test_a_schema_takes_the_first_goal() -> None:
    pytest.importorskip("jsonschema").validate(yaml.safe_load(first_goal("g", "goal.yaml")), schema_of(GOAL))


@pytest.mark.parametrize("name", FORMS)
def test_a_schema_refuses_what_nobody_knows(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    errors = jsonschema.Draft202012Validator(schema_of(FORMS[name])).iter_errors({"zzz": 1})
    assert [error.message for error in errors if "zzz" in error.message]


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, form in FORMS.items() for path, _ in everywhere(form.model)])
def test_every_field_says_what_it_is(name: str, path: str) -> None:
    field = explained(path, FORMS[name])
    assert field.path == path
    assert field.type
    assert len(field.description) > 8
