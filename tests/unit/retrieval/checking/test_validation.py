"""Files of a workspace make sense, or everything that is wrong with them is said at once and nothing is changed."""

import json

import pytest

from hive_mind.errors import ConfigError, InvalidInput, WorkspaceError
from hive_mind.retrieval import QUESTIONS_MIN, Collection, RetrievalConfig
from hive_mind.retrieval.validation import check_active, check_collection, check_config, check_golden, semantic
from tests.unit.retrieval.bad_files import AUTH, COLLECTIONS, CONFIGS, GOLDEN_SETS, WITHOUT_EFFECT, WITHOUT_EMBEDDINGS
from tests.unit.retrieval.workspaces import everything_in, public, workspace


def errors(checked):
    return [(one.line, one.path, one.message) for one in checked.errors]


def warnings(checked):
    return [(one.path, one.message) for one in checked.findings if one.level == "warning"]


@pytest.mark.parametrize("bad", CONFIGS, ids=lambda bad: bad.name)
def test_a_bad_configuration_is_told_exactly_and_changes_nothing(bad, tmp_path):
    here = workspace(tmp_path, config=bad.text)
    before = everything_in(tmp_path)

    checked = check_config(here, "v1", has_embeddings=True)

    assert errors(checked) == list(bad.says)
    with pytest.raises(WorkspaceError):
        checked.accepted()
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("bad", WITHOUT_EMBEDDINGS, ids=lambda bad: bad.name)
def test_meaning_needs_embeddings(bad, tmp_path):
    here = workspace(tmp_path, config=bad.text)

    assert errors(check_config(here, "v1", has_embeddings=False)) == list(bad.says)
    assert errors(check_config(here, "v1", has_embeddings=True)) == []


@pytest.mark.parametrize("bad", COLLECTIONS, ids=lambda bad: bad.name)
def test_a_bad_collection_is_told_exactly_and_changes_nothing(bad, tmp_path):
    here = workspace(tmp_path, collection=bad.text)
    before = everything_in(tmp_path)

    assert errors(check_collection(here, "kb")) == list(bad.says)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("bad", GOLDEN_SETS, ids=lambda bad: bad.name)
def test_a_bad_golden_set_is_told_exactly_and_changes_nothing(bad, tmp_path):
    here = workspace(tmp_path, golden=bad.text)
    before = everything_in(tmp_path)

    assert errors(check_golden(here, here.collection("kb"))) == list(bad.says)
    assert everything_in(tmp_path) == before


def test_every_bad_file_is_another_and_says_something():
    for bad in (CONFIGS, COLLECTIONS, GOLDEN_SETS):
        assert len({one.name for one in bad}) == len(bad)
        assert all(one.says for one in bad)
    said = " ".join(message for bad in (*CONFIGS, *COLLECTIONS, *GOLDEN_SETS) for _, _, message in bad.says)
    assert [word for word in ("pydantic", "Input should", "YAML") if word in said] == [], "of the libraries behind"


def test_a_good_workspace_has_nothing_to_say(tmp_path):
    here = workspace(tmp_path, config='{"name": "v1", "collection": "kb", "filters": {"category": ["api", "tutorials"]}}')

    assert check_config(here, "v1", has_embeddings=True).findings == ()
    assert check_collection(here, "kb").findings == ()
    assert check_golden(here, here.collection("kb")).errors == ()


def test_the_public_layout_has_nothing_to_say_either(tmp_path):
    here = public(tmp_path)

    assert check_config(here, "v1-naive", has_embeddings=True).findings == ()
    assert check_collection(here, "knowledge-base").findings == ()
    assert check_golden(here, here.collection("knowledge-base")).errors == ()
    assert check_active(here, has_embeddings=True) == ()


@pytest.mark.parametrize("odd", WITHOUT_EFFECT, ids=lambda odd: odd.name)
def test_what_has_no_effect_is_a_warning_and_keeps_nobody(odd, tmp_path):
    checked = check_config(workspace(tmp_path, config=odd.text), "v1", has_embeddings=True)

    assert warnings(checked) == [(path, message) for _, path, message in odd.says]
    assert checked.accepted().name == "v1"


@pytest.mark.parametrize(
    ("body", "results_max"),
    [
        ("", 10),
        (', "retrieval": {"top_k": 5}', 5),
        (', "retrieval": {"top_k": 5}, "dynamic_k": {"enabled": true}', 5),
        (', "retrieval": {"method": "keyword"}, "distraction_detection": {"enabled": true, "signal": "coverage"}', 10),
        (', "filters": {"category": ["news"]}', 10),
    ],
)
def test_what_is_right_has_nothing_to_say_and_stays_so_when_it_is_kept_with_its_defaults(body, results_max, tmp_path):
    """As it is in the history, or in what was deployed."""
    # The values of an index count where there is one.
    facets, has_embeddings = {"category": {"news": 3, "api": 1}}, "coverage" not in body
    here = workspace(tmp_path, config='{"name": "v1", "collection": "kb"' + body + "}")

    checked = check_config(here, "v1", has_embeddings=has_embeddings, facets=facets)

    assert (checked.findings, checked.accepted().results_max) == ((), results_max)
    kept = RetrievalConfig.model_validate_json(checked.accepted().model_dump_json(by_alias=True))
    assert kept == checked.accepted()
    assert semantic(kept, here.collection("kb"), facets, has_embeddings) == ()


def test_defaults_that_are_written_out_mislead_nobody(tmp_path):
    written = RetrievalConfig(name="v1", collection="kb").model_dump_json(by_alias=True)

    assert check_config(workspace(tmp_path, config=written), "v1", has_embeddings=True).findings == ()


def test_filters_that_match_nothing_together_are_told_beside_what_is_only_odd(tmp_path):
    body = '"filters": {"category": ["faqs"], "title": ["Rate limits", "Rate limits"]}'
    fields = '{"category": {"type": "keyword", "filterable": true}, "title": {"type": "keyword", "filterable": true}}'
    here = workspace(
        tmp_path,
        collection='{"name": "kb", "fields": ' + fields + "}",
        config='{"name": "v1", "collection": "kb",\n' + body + "}",
    )

    checked = check_config(here, "v1", has_embeddings=True)

    assert errors(checked) == [(2, "filters", "no document matches category and title together; remove one, or add values")]
    assert [path for path, _ in warnings(checked)] == ["filters.title[1]"]


def test_what_contradicts_itself_is_told_beside_a_collection_that_is_not_there(tmp_path):
    body = '"retrieval": {"top_k": 5},\n"dynamic_k": {"enabled": true, "max_results": 8}'
    here = workspace(tmp_path, config='{"name": "v1", "collection": "kbb", ' + body + "}")

    assert errors(check_config(here, "v1", has_embeddings=True)) == [
        (1, "collection", "there is no collection kbb; did you mean kb?"),
        (2, "dynamic_k.max_results", "is 8 and retrieval.top_k is 5; lower it to 5, or raise top_k"),
    ]


def test_what_makes_no_sense_is_found_without_a_workspace():
    config = RetrievalConfig(name="v1", filters={"category": ["faq"]})
    found = semantic(config, Collection(name="kb", filterable_fields=["category"]), {"category": {"faqs": 2}}, True)
    assert [(one.level, one.path, one.line) for one in found] == [("error", "filters.category[0]", 0)]
    assert found[0].message == 'no document has category "faq"; did you mean faqs? There are faqs (2)'


def test_a_broken_collection_is_told_at_the_configuration_that_names_it(tmp_path):
    here = workspace(tmp_path, collection='{"name": "kb", "zzz": 1}')

    told = "collections/kb.json can't be used: zzz: is not known; allowed here: "
    told += "name, fields, filterable_fields, documents_dir, chunking"
    assert errors(check_config(here, "v1", has_embeddings=True)) == [(1, "collection", told)]


def test_an_active_configuration_that_is_gone_is_told(tmp_path):
    here = workspace(tmp_path, active='{"config": "v11"}')

    assert [one.message for one in check_active(here, has_embeddings=True)] == ["there is no configuration v11; did you mean v1?"]


@pytest.mark.parametrize(
    ("deployed", "path", "message"),
    [
        ('{"name": "v1", "collection": "gone"}', "collection", "there is no collection gone; there are kb"),
        (
            '{"name": "v1", "collection": "kb", "filters": {"category": ["news"]}}',
            "filters.category[0]",
            'no document has category "news"; there are api (2), faqs (1), tutorials (1)',
        ),
    ],
)
def test_what_was_deployed_and_fits_the_documents_no_more_is_told(deployed, path, message, tmp_path):
    here = workspace(tmp_path, active='{"config": "v1",\n"deployed": ' + deployed + "}")

    found = check_active(here, has_embeddings=True)

    assert [(one.line, one.path, one.message) for one in found] == [(2, f"deployed.{path}", message)]


def test_an_active_configuration_in_the_public_layout_is_checked_as_one(tmp_path):
    here = workspace(tmp_path, active='{"name": "v1", "collection": "kb", "retrieval": {"top_k": true}}')

    assert [one.path for one in check_active(here, has_embeddings=True)] == ["retrieval.top_k"]


def test_no_active_configuration_is_no_mistake(tmp_path):
    assert check_active(workspace(tmp_path), has_embeddings=True) == ()


def test_a_name_that_was_never_written_is_a_mistake_of_the_call(tmp_path):
    here = workspace(tmp_path)

    with pytest.raises(InvalidInput, match=r"^there is no v11 in configs/; did you mean v1\?$"):
        check_config(here, "v11", has_embeddings=True)
    with pytest.raises(InvalidInput, match=r"^there is no zzz in collections/; there are kb$"):
        check_collection(here, "zzz")


def test_an_error_names_file_line_and_path(tmp_path):
    here = workspace(tmp_path, config='{"name": "v1",\n"collection": "kbb"}')

    with pytest.raises(ConfigError) as refused:
        check_config(here, "v1", has_embeddings=True).accepted()

    file = tmp_path / "configs" / "v1.json"
    assert str(refused.value) == f"{file}:2: collection: there is no collection kbb; did you mean kb?"


def test_documents_that_are_left_out_are_told(tmp_path):
    here = workspace(tmp_path)
    (tmp_path / "documents" / "api" / "image.md").write_bytes(b"\x00\x01")

    told = ("documents_dir", "api/image.md is left out: it is binary, not text")
    assert warnings(check_collection(here, "kb")) == [told]


def test_a_field_that_no_document_has_is_told(tmp_path):
    here = workspace(tmp_path, collection='{"name": "kb", "fields": {"author": {"type": "keyword"}}}')

    told = ("fields.author", "no document has author; write it in their front matter, or remove it")
    assert warnings(check_collection(here, "kb")) == [told]


def test_a_question_about_a_document_that_is_left_out_is_told(tmp_path):
    here = workspace(tmp_path)
    (tmp_path / "documents/api/auth.md").write_bytes("# Authentifié\n".encode("latin-1"))
    (tmp_path / "documents/faqs/passwords.md").write_text("---\n- status\n---\n# Passwords\n")

    assert [(path, message) for _, path, message in errors(check_golden(here, here.collection("kb")))] == [
        (
            "queries[0].distractors[0]",
            "faqs/passwords.md can't be found: it has front matter other than a list of fields "
            "(it must be lines of name: value); fix it, or remove it",
        ),
        ("queries[0].relevant[0]", "api/auth.md can't be found: it is not UTF-8 text; fix it, or remove it"),
    ]


def test_a_golden_set_that_proves_little_is_told(tmp_path):
    here = workspace(tmp_path, golden='{"queries": [' + AUTH.replace(', "distractors": ["faqs/passwords.md"]', "") + "]}")

    assert [message for _, message in warnings(check_golden(here, here.collection("kb")))] == [
        "only 1 question: differences will look like chance; at least 6 are needed for an interval, better 30, and with 5 only a "
        "gain at each of them counts",
        "no question names distractors, so contamination can't be seen; name some",
    ]


def test_a_golden_set_with_too_few_held_out_questions_for_the_gate_is_told_before(tmp_path):
    split = ["train"] * QUESTIONS_MIN + ["test"] * (QUESTIONS_MIN - 1)
    queries = [
        {"query": f"Question {n}?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"], "split": part}
        for n, part in enumerate(split)
    ]
    here = workspace(tmp_path, golden=json.dumps({"queries": queries}))

    told = (
        f"only {QUESTIONS_MIN - 1} of the questions are for test; at least {QUESTIONS_MIN} are needed for an interval, better 30"
    )
    assert warnings(check_golden(here, here.collection("kb"))) == [("queries", told)]
