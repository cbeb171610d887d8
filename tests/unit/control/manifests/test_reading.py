"""A manifest is read, or everything that is wrong with it is said at once."""

import os
import time
from pathlib import Path

import pytest

from hive_mind.control.manifests import HiveManifest
from hive_mind.control.manifests.reading import read_manifest, read_text
from hive_mind.errors import ConfigError, InvalidInput, ManifestError, Problem
from hive_mind.goals import functions
from tests.unit.control.bad_manifests import AGENTS, EVERY, HEAD, MISSING, NEVER_SAID, Bad, one_agent, within

EXAMPLES = sorted((Path(__file__).parents[4] / "manifests").glob("*.yaml"))


def read(text: str) -> HiveManifest:
    return read_text(text, Path("/nowhere"), "hive.yaml").manifest


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ManifestError) as refused:
        read(text)
    return refused.value.problems


def refused(bad: Bad, folder: Path) -> ManifestError:
    file = folder / "hive.yaml"
    file.write_bytes(bad.bytes)
    with pytest.raises(ManifestError) as error:
        read_manifest(file)
    return error.value


def test_what_is_wrong_in_no_line_is_told_without_one():
    error = ManifestError([Problem("spec", 3, "is empty"), Problem("manifest", 0, "is too large")], "hive.yaml")
    assert str(error).splitlines() == ["hive.yaml:3: spec: is empty", "hive.yaml: manifest: is too large"]


@pytest.mark.parametrize("bad", EVERY, ids=lambda bad: bad.name)
def test_what_is_wrong_is_told_soon_with_line_path_and_what_to_do_and_no_secret(bad, tmp_path):
    begun_s = time.process_time()
    error = refused(bad, tmp_path)
    said, found = str(error), error.problems

    # Half a second on a quiet machine; a bomb would take years.
    assert time.process_time() - begun_s < 20
    assert NEVER_SAID not in said
    assert "pydantic" not in said
    assert "Input should" not in said
    assert [(one.line, one.path) for one in found] == [(line, path) for line, path, _ in bad.says]
    assert all(words in one.message for one, (_, _, words) in zip(found, bad.says, strict=True)), found


def test_there_are_many_ways_to_be_wrong():
    assert len({bad.name for bad in EVERY}) == len(EVERY) >= 40


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_reads_without_a_problem_and_without_an_extra(file, monkeypatch):
    monkeypatch.setattr(functions, "re2", None)
    source = read_manifest(file)

    assert source.folder == file.parent
    assert source.text == file.read_text()
    # The four that run here are one fleet, so that one can become the other.
    assert source.manifest.metadata.name == ({"azure": "azure", "judged": "halvay-judged"}.get(file.stem, "halvay"))


def test_there_is_an_example_of_every_topology_and_of_the_cloud():
    assert {file.stem for file in EXAMPLES} >= {"single", "flat", "federated", "sharded", "azure"}


def test_the_shortest_manifest_has_a_default_for_everything_else():
    spec = read(HEAD + AGENTS).spec
    assert (spec.topology.kind, spec.store, spec.platform.kind, spec.bus.url) == ("flat", "sqlite", "local", "")


def test_a_section_may_be_written_as_the_word_that_matters_most():
    spec = read(within("  topology: single\n  platform: inprocess\n  bus: memory\n")).spec
    assert (spec.topology.kind, spec.platform.kind, spec.bus.url) == ("single", "inprocess", "memory:")


def test_an_anchor_saves_writing_the_same_twice():
    agents = "  agents:\n    - &first {name: ada, domain: ferries, env: {A: x}}\n    - {<<: *first, name: ben, domain: pumps}\n"
    ada, ben = read(HEAD + agents).spec.agents
    assert (ben.name, ben.domain, ben.env) == ("ben", "pumps", ada.env)


@pytest.mark.parametrize("written", ["yes", "on", "True", "true"])
def test_yes_and_on_are_true_where_true_or_false_is_asked(written):
    assert read(within(f"  promotion: {{open: {written}}}\n")).spec.promotion.is_open is True


@pytest.mark.parametrize("name", ["'on'", '"12"', "007", "2024-01-01", "a12"])
def test_text_that_only_looks_like_something_else_stays_text(name):
    assert read(one_agent(f"name: {name}")).spec.agents[0].name == name.strip("'\"")


def test_everything_is_told_at_once_in_the_order_of_the_file():
    text = within("  stor: x\n  gossip: {fanout: many}\n  trust: {moderators: [eve]}\n", AGENTS + "    - name: ada\n")
    told = [(one.line, one.path) for one in problems_of(text)]
    assert told == [(7, "spec.agents[1].name"), (8, "spec.stor"), (9, "spec.gossip.fanout"), (10, "spec.trust.moderators[0]")]


def test_what_follows_from_a_mistake_is_not_told_as_another():
    """With the kind misspelled, groups are not "for federated hives" as well."""
    text = within("  topology: {kind: federatd, groups: [{name: north}]}\n")
    assert [one.path for one in problems_of(text)] == ["spec.topology.kind"]


@pytest.mark.parametrize("count", ["0", "many"])
def test_a_count_that_can_not_be_is_not_told_as_missing(count):
    assert [one.path for one in problems_of(one_agent(f"name: 'reader-{{n}}', count: {count}"))] == ["spec.agents[0].count"]


def test_what_a_misspelled_key_meant_is_not_told_as_missing():
    text = within("  topolgy: {kind: federated}\n", AGENTS + "    - {name: ben, group: north}\n")
    assert [one.path for one in problems_of(text)] == ["spec.topolgy"]


@pytest.mark.parametrize("bad", MISSING, ids=lambda bad: bad.name)
def test_what_was_applied_before_is_read_though_what_it_names_is_gone(bad, tmp_path):
    file = tmp_path / "hive.yaml"
    file.write_bytes(bad.bytes)
    assert (
        read_text(file.read_text(), tmp_path, "hive.yaml").manifest == read_text(file.read_text(), tmp_path, str(file)).manifest
    )


def test_a_file_that_is_wrong_everywhere_is_told_in_a_hundred_lines():
    text = within("".join(f"  key{n}: 1\n" for n in range(5_000)) + f"  {'k' * 900}: 1\n")
    assert len(problems_of(text)) == 100
    assert max(len(one.message) + len(one.path) for one in problems_of(within(f"  {'k' * 900}: 1\n"))) < 300


def test_a_message_names_file_line_and_path():
    with pytest.raises(ManifestError, match=r"^fleet\.yaml:7: spec\.stor: is not known; did you mean store\?$"):
        read_text(within("  stor: kuzu\n"), Path(), "fleet.yaml")


def test_a_file_that_is_not_there_is_a_mistake_of_the_call(tmp_path):
    with pytest.raises(InvalidInput, match="can't be read"):
        read_manifest(tmp_path / "nothing.yaml")
    with pytest.raises(ConfigError):
        read_manifest(tmp_path)


def test_a_folder_whose_name_can_not_be_kept_is_told_before_anything_is_done(tmp_path):
    folder = tmp_path / os.fsdecode(b"T\xfcr")
    folder.mkdir()
    (folder / "hive.yaml").write_text(one_agent("name: ada"))
    with pytest.raises(InvalidInput, match="no UTF-8: rename the folder"):
        read_manifest(folder / "hive.yaml")
