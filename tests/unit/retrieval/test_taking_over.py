"""A workspace written in the form of document 000's project is taken over, works, and every change is told."""

import json
from pathlib import Path

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.retrieval.measuring.evaluation import bench_of, evaluate
from hive_mind.retrieval.starting import begin, taken_over
from hive_mind.retrieval.validation import check_collection, check_config, check_golden
from hive_mind.runtime.settings import Settings
from tests.unit.retrieval.workspaces import DOCUMENTS, everything_in

NAIVE = """{
  "name": "v1-naive",
  "collection": "knowledge-base",
  "retrieval": {
    "method": "hybrid",   // keyword | vector | hybrid
    "top_k": 10,
    "rrf_k": 60
  },
  "dynamic_k": {"enabled": false, "gap_threshold_factor": 3.0, "min_results": 1, "max_results": 10},
  "filters": {},
  "distraction_detection": {"enabled": false, "disagreement_threshold": 0.5}
}
"""
FILTERED = {
    "name": "v2-filtered",
    "collection": "knowledge-base",
    "description": "no frequently asked questions",
    "retrieval": {"method": "hybrid", "top_k": 5, "rrf_k": 60},
    "dynamic_k": {"enabled": True, "gap_threshold_factor": 3.0, "min_results": 1, "max_results": 10},
    "filters": {"category": ["api", "tutorials"]},
}
COLLECTION = {
    "name": "knowledge-base",
    "documents_dir": "workspace/documents",
    "filterable_fields": {"category": {"type": "keyword", "values": ["api", "faqs", "tutorials"]}},
    "chunking": {"strategy": "by_heading", "heading_level": 2, "max_tokens": 512, "min_tokens": 20},
    "embedding": {"model": "some-model", "dimensions": 1536},
}
GOLDEN = {
    "queries": [
        {
            "query": "How do I authenticate?",
            "relevant": ["workspace/documents/api/auth.md"],
            "distractors": ["documents/faqs/passwords.md"],
        },
        {"query": "How many requests may I send?", "relevant": ["api/limits.md"], "distractors": []},
    ]
}


def project(repository: Path, **changes: object) -> Path:
    """The workspace of a repository."""
    files = {
        "collections/knowledge-base.json": json.dumps(COLLECTION | changes),
        "configs/v1.json": NAIVE,
        "configs/v2.json": json.dumps(FILTERED),
        "configs/active.json": NAIVE,
        "evals/golden.json": json.dumps(GOLDEN),
        "hive.db": "an index",
        **{f"documents/{name}": text for name, text in DOCUMENTS.items()},
    }
    for name, text in files.items():
        file = repository / "workspace" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return repository / "workspace"


def test_every_file_of_it_is_right_afterwards_and_the_project_is_as_it_was(tmp_path: Path):
    source = project(tmp_path / "repository")
    before = everything_in(source)

    here = begin(tmp_path / "ours", taken_over(source).files)

    collection = check_collection(here, "knowledge-base")
    assert collection.findings == ()
    assert check_golden(here, collection.accepted()).errors == ()
    assert here.configs() == ("v1-naive", "v2-filtered")
    for name in here.configs():
        assert check_config(here, name, has_embeddings=True).errors == ()
    active = here.active()
    assert active
    assert active.name == "v1-naive"
    assert [one.id for one in here.documents(collection.accepted()).seen] == sorted(DOCUMENTS)
    assert everything_in(source) == before


def test_every_change_is_told(tmp_path: Path):
    told = taken_over(project(tmp_path)).changes

    for part in (
        "collections/knowledge-base.json: filterable_fields is not a list: category declared under fields",
        "collections/knowledge-base.json: documents_dir workspace/documents is documents",
        "collections/knowledge-base.json: embedding is left out: the model is chosen by HIVE_MIND_EMBED_MODEL",
        "collections/knowledge-base.json: chunking.min_tokens is left out, nothing reads it",
        "configs/v1.json is configs/v1-naive.json, as it calls itself",
        "configs/v2.json: description is left out",
        "configs/v2.json: dynamic_k.max_results 10 is 5",
        "evals/golden.json: documents are called by their path",
    ):
        assert any(line.startswith(part) for line in told), (part, told)


def test_what_is_not_changed_keeps_its_comments(tmp_path: Path):
    assert taken_over(project(tmp_path)).files["configs/v1-naive.json"] == NAIVE


async def test_it_measures_what_the_project_would(tmp_path: Path):
    here = begin(tmp_path / "ours", taken_over(project(tmp_path / "repository")).files)

    async with bench_of(here, Settings(embed="none"), NoEmbedder()).open("knowledge-base") as index:
        both = [await evaluate(index, here.config(name), here.golden()) for name in here.configs()]
        assert [one.distractors for one in both] == [1, 0]


def test_documents_beside_the_project_are_copied_and_that_is_told(tmp_path: Path):
    source = project(tmp_path, documents_dir="handbook")
    (tmp_path / "handbook" / "api").mkdir(parents=True)
    (tmp_path / "handbook" / "api" / "auth.md").write_text("# API authentication\n")

    found = taken_over(source)

    assert [name for name in found.files if name.endswith(".md")] == ["handbook/api/auth.md"]
    assert any("handbook/ is a copy of" in line and "beside the project" in line for line in found.changes)


@pytest.mark.parametrize("folder", ["gone", "../repository", "/etc", "."])
def test_a_folder_of_documents_that_is_not_there_or_leads_out_is_refused(tmp_path: Path, folder: str):
    with pytest.raises(InvalidInput, match=r"knowledge-base\.json: there is no folder .*: correct documents_dir"):
        taken_over(project(tmp_path / "repository", documents_dir=folder))


def test_two_configurations_of_one_name_keep_their_files(tmp_path: Path):
    source = project(tmp_path)
    (source / "configs" / "v3.json").write_text(NAIVE)

    assert {"configs/v1-naive.json", "configs/v3.json"} <= taken_over(source).files.keys()


def test_an_active_file_that_names_a_configuration_stays(tmp_path: Path):
    source = project(tmp_path)
    (source / "configs" / "active.json").write_text('{"config": "v1-naive"}')

    here = begin(tmp_path / "ours", taken_over(source).files)

    assert here.active() == here.config("v1-naive")


def test_a_damaged_file_is_named_and_nothing_is_written(tmp_path: Path):
    source = project(tmp_path)
    (source / "configs" / "v2.json").write_text('{"name": ')

    with pytest.raises(InvalidInput, match=r"v2\.json can't be read: line 1: .*: fix it first"):
        taken_over(source)
