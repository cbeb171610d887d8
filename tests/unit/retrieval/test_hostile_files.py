"""Whatever stands in a file, it is judged: nothing but what is said in advance is ever raised, and it does not take long."""

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hive_mind.retrieval.validation import check_active, check_collection, check_config, check_golden
from tests.unit.retrieval.workspaces import workspace

WORDS = st.sampled_from(
    "name collection retrieval method hybrid keyword top_k dynamic_k filters category api fields type text filterable kb v1 "
    "filterable_fields documents_dir documents chunking strategy fixed queries query relevant distractors split config".split()
)
LEAVES = st.none() | st.booleans() | st.integers(-5, 2000) | st.floats(allow_nan=True) | WORDS | st.text(max_size=5)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
FILES = st.dictionaries(WORDS, ANYTHING, max_size=5).map(lambda value: {"name": "v1", "collection": "kb"} | value)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=FILES, kind=st.sampled_from(["config", "collection", "golden", "active"]))
def test_any_file_is_judged(value, kind, tmp_path_factory):
    if kind == "collection":
        value.pop("collection", None)
        value["name"] = "kb"
    here = workspace(tmp_path_factory.mktemp("any"), **{kind: json.dumps(value)})

    found = [*check_active(here, has_embeddings=True)]
    if kind == "config":
        found += check_config(here, "v1", has_embeddings=False).findings
    elif kind == "collection":
        found += check_collection(here, "kb").findings
    elif kind == "golden":
        found += check_golden(here, here.collection("kb")).findings

    assert all(one.path and one.message and one.line >= 0 for one in found)
    "".join(one.path + one.message for one in found).encode()


def test_a_golden_set_of_thousands_of_mistakes_is_told_in_a_hundred_lines(tmp_path):
    queries = [{"query": f"question {n}", "relevant": [f"api/nothing-{n}.md"]} for n in range(5_000)]
    here = workspace(tmp_path, golden=json.dumps({"queries": queries}))
    begun_s = time.process_time()

    found = check_golden(here, here.collection("kb")).findings

    # A second on a quiet machine; looking for what was meant by each would take minutes.
    assert time.process_time() - begun_s < 20
    assert len(found) == 100


@pytest.mark.parametrize("text", ['{"\\ud800": 1}', '{"name": "\\udc00"}'])
def test_half_a_character_is_never_repeated(text, tmp_path):
    found = check_config(workspace(tmp_path, config=text), "v1", has_embeddings=True).findings

    assert "contains an unpaired surrogate; write the whole character" in [one.message for one in found]
    "".join(one.path + one.message for one in found).encode()


@pytest.mark.parametrize("folder", ["a\0b", "x" * 400, "documents/" + "y" * 300])
def test_a_folder_that_can_not_exist_is_told_as_one(folder, tmp_path):
    here = workspace(tmp_path, collection=json.dumps({"name": "kb", "documents_dir": folder}))

    assert [one.path for one in check_collection(here, "kb").errors] == ["documents_dir"]
    assert [one.path for one in check_config(here, "v1", has_embeddings=True).errors] == ["collection"]


@pytest.mark.parametrize("document", ["a\0b", "x" * 400, "documents/" + "y" * 300, "documents/a\0b"])
def test_a_document_that_can_not_exist_is_told_as_one(document, tmp_path):
    here = workspace(tmp_path, golden=json.dumps({"queries": [{"query": "x", "relevant": [document]}]}))

    assert [one.path for one in check_golden(here, here.collection("kb")).errors] == ["queries[0].relevant[0]"]
