"""A workspace gives what its files say, in our layout and in the public one, and leads nowhere else."""

import json
import os

import pytest

from hive_mind.errors import InvalidInput, WorkspaceError
from hive_mind.retrieval import Collection, RetrievalConfig
from hive_mind.retrieval.workspace import Workspace
from tests.unit.retrieval.workspaces import AUTH_ONLY, CONFIG, DOCUMENTS, public, workspace


def test_a_workspace_gives_what_its_files_say(tmp_path):
    here = workspace(tmp_path, active='{"config": "v1"}')

    assert (here.configs(), here.collections()) == (("v1",), ("kb",))
    assert here.config("v1") == here.active() == RetrievalConfig(name="v1", collection="kb")
    assert here.collection("kb").filterable == ("category",)
    assert [one.id for one in here.documents(here.collection("kb")).seen] == sorted(DOCUMENTS)
    assert here.golden().queries[0].relevant == ["api/auth.md"]


def test_the_public_layout_is_read_as_it_is(tmp_path):
    here = public(tmp_path)

    config, collection, golden = here.config("v1-naive"), here.collection("knowledge-base"), here.golden()
    assert here.configs() == ("v1-naive",)
    assert here.active() == config
    assert (config.retrieval.method, config.retrieval.top_k, config.dynamic_k.gap_threshold_factor) == ("hybrid", 10, 3.0)
    assert (collection.filterable, collection.known_fields["category"].type) == (("category",), "keyword")
    assert [(one.id, one.relevant, one.distractors) for one in golden.queries] == [("q1", ["api/auth.md"], ["faqs/passwords.md"])]


def test_an_active_configuration_may_be_a_link(tmp_path):
    here = public(tmp_path)
    here.active_file.unlink()
    here.active_file.symlink_to("v1-naive.json")

    assert here.active() == here.config("v1-naive")


def test_who_gives_only_rrf_k_means_reciprocal_ranks():
    assert RetrievalConfig.model_validate({"name": "a", "retrieval": {"rrf_k": 60}}).retrieval.fusion == "rrf"
    for fields in ({"rrf_k": 60, "fusion": "linear"}, {"top_k": 5}):
        assert RetrievalConfig.model_validate({"name": "a", "retrieval": fields}).retrieval.fusion == "linear"


def test_what_is_in_use_is_what_was_deployed_and_not_what_its_file_became(tmp_path):
    deployed = RetrievalConfig(name="v1", collection="kb")
    active = {"config": "v1", "deployed": deployed.model_dump(by_alias=True), "by": "ada", "why": "fewer distractors"}
    here = workspace(tmp_path, active=json.dumps(active), config='{"name": "v1", "collection": "kb", "retrieval": {"top_k": 99}}')

    told = here.deployment()
    assert here.active() == deployed
    assert (told.by, told.why) == ("ada", "fewer distractors")


def test_where_nothing_was_deployed_nothing_is_in_use(tmp_path):
    assert workspace(tmp_path).active() is workspace(tmp_path).deployment() is None


def test_a_link_that_leads_nowhere_is_no_silence(tmp_path):
    here = workspace(tmp_path)
    here.active_file.symlink_to("gone.json")

    with pytest.raises(InvalidInput, match="does not exist"):
        here.active()


@pytest.mark.parametrize("name", ["../v1", "a/b", "", "..", ".hidden", "x" * 65, "a\n", "a b", "/etc/passwd", "active"])
def test_a_name_can_not_lead_out_of_its_folder(name, tmp_path):
    with pytest.raises(InvalidInput, match="can't be used"):
        workspace(tmp_path).config(name)


def test_a_file_that_is_a_link_to_elsewhere_is_not_read(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(CONFIG)
    here = workspace(tmp_path / "workspace")
    (here.root / "configs" / "v2.json").symlink_to(secret)

    with pytest.raises(InvalidInput, match=r"v2\.json is a link that leads out of the workspace; put a copy there instead$"):
        here.config("v2")


@pytest.mark.parametrize("folder", ["..", "../other", "/etc", "documents/../..", "linked"])
def test_documents_lie_in_the_workspace(folder, tmp_path):
    here = workspace(tmp_path / "workspace")
    (here.root / "linked").symlink_to(tmp_path)

    with pytest.raises(WorkspaceError, match="leads out of the workspace"):
        here.documents(Collection(name="kb", documents_dir=folder))


@pytest.mark.parametrize("path", ["documents/api/auth.md", "./api/auth.md", "./documents/api/auth.md", "api/auth.md"])
def test_a_document_may_be_named_by_its_path_in_the_workspace(path, tmp_path):
    here = workspace(tmp_path, golden=AUTH_ONLY.replace("api/auth.md", path))

    assert here.golden().queries[0].relevant == ["api/auth.md"]


def test_every_question_has_an_id_of_its_own(tmp_path):
    queries = [{"query": "a"}, {"query": "b", "id": "q1"}, {"query": "c"}]
    here = workspace(tmp_path, golden=json.dumps({"queries": queries}))

    assert [one.id for one in here.golden().queries] == ["q1'", "q1", "q3"]


def test_train_and_test_questions_are_apart(tmp_path):
    queries = [{"query": "a", "split": "train"}, {"query": "b", "split": "test"}]
    golden = workspace(tmp_path, golden=json.dumps({"queries": queries})).golden()

    assert [[one.query for one in golden.split(part)] for part in ("train", "test", None)] == [["a"], ["b"], ["a", "b"]]


def test_a_folder_that_is_no_workspace_says_how_to_make_one(tmp_path):
    with pytest.raises(InvalidInput, match="hive-mind retrieval init"):
        Workspace.open(tmp_path)


def test_a_bad_file_is_told_with_its_name(tmp_path):
    here = workspace(tmp_path, config='{"name": "v1",\n"zzz": 1}')

    with pytest.raises(WorkspaceError, match=r"v1\.json:2: zzz: is not known; allowed here: name, .*, rerank$"):
        here.config("v1")


def test_an_active_file_that_names_what_is_not_there_is_told_with_a_way_out(tmp_path):
    here = workspace(tmp_path, active='{"config": "v2"}')

    with pytest.raises(InvalidInput) as told:
        here.active()

    assert str(told.value) == (
        "configs/active.json names what is not there: there is no v2 in configs/; there are v1; "
        "correct the name there, or take that file away and deploy another configuration"
    )


def test_a_folder_of_documents_that_is_not_there_is_told_with_its_line(tmp_path):
    here = workspace(tmp_path, collection='{"name": "kb",\n\n"documents_dir": "papers"}')

    with pytest.raises(WorkspaceError, match=r"kb\.json:3: documents_dir: there is no folder papers; make it"):
        here.documents_folder(here.collection("kb"))


def test_a_golden_set_that_is_not_there_is_told_with_what_to_do(tmp_path):
    here = workspace(tmp_path)
    here.golden_file.unlink()

    with pytest.raises(InvalidInput, match=r"does not exist: write it \(see docs/howto/retrieval\.md\), or begin with"):
        here.golden()


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    here = workspace(tmp_path)
    os.mkfifo(here.config_file("pipe"))

    with pytest.raises(InvalidInput, match=r"pipe\.json can't be read: it must be a regular file"):
        here.config("pipe")
