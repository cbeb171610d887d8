"""A manifest takes rules from files, and says what is wrong with them, each with its line."""

from pathlib import Path

import pytest

from hive_mind.control.manifests.reading import read_manifest, read_text, settled
from hive_mind.errors import RuleError
from hive_mind.judge.rules import RuleSet, rules_of
from tests.unit.control.bad_manifests import within
from tests.unit.control.manifests.test_retrieval_file import problems_of

HEAD = "apiVersion: hive-mind/v1\nkind: Rules\nspec:\n  rules:\n"
MONEY = HEAD + "    - {id: money, condition: \"'euros' in result.text\", action: escalate}\n"
KEYS = HEAD + "    - id: keys\n      condition: \"'key' in result.text\"\n      action: retry\n      priority: 200\n"


def manifest(folder: Path, pattern: str, more: str = "") -> Path:
    file = folder / "hive.yaml"
    file.write_text(within(f"  judge: {{facts: rules}}\n  ruleFiles: [{pattern}]\n{more}"))
    return file


def written(folder: Path, **files: str) -> None:
    (folder / "rules").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "rules" / f"{name}.yaml").write_text(text)


def test_rules_of_files_are_added_to_those_of_the_manifest_once(tmp_path: Path) -> None:
    written(tmp_path, money=MONEY, keys=KEYS)
    own = "  rules:\n    - {id: own, condition: 'len(result.text) > 9', action: accept}\n"
    read = read_manifest(manifest(tmp_path, "rules/*.yaml", own))
    assert [rule.id for rule in RuleSet(read.manifest.spec.rules).rules] == ["keys", "money", "own"]
    assert settled(read).manifest.spec.rules == read.manifest.spec.rules


def test_every_mistake_of_a_file_is_told_with_its_own_line(tmp_path: Path) -> None:
    bad = MONEY.replace("'euros' in", "open(") + "    - {id: money, condition: 'true', action: burn}\n"
    written(tmp_path, bad=bad)

    found = problems_of(manifest(tmp_path, "rules/bad.yaml"))

    assert {one.path for one in found} == {"spec.ruleFiles[0]"}
    told = [one.message for one in found]
    assert any(f"{tmp_path}/rules/bad.yaml:5: spec.rules[0].condition: the condition can't be used" in one for one in told)
    assert any(
        f"{tmp_path}/rules/bad.yaml:6: spec.rules[1].action: has to be accept, retry, replan, escalate" in one for one in told
    )


def test_one_id_in_two_files_or_twice_in_one_is_refused(tmp_path: Path) -> None:
    written(tmp_path, a=MONEY, b=MONEY)
    (found,) = problems_of(manifest(tmp_path, "rules"))
    assert found.message == f"{tmp_path}/rules/b.yaml: rule money stands in {tmp_path}/rules/a.yaml, too; choose another id"
    with pytest.raises(RuleError, match=r"rules:6: spec\.rules\[1\]\.id: is also the id of spec\.rules\[0\]; choose another"):
        rules_of(MONEY + MONEY.removeprefix(HEAD))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("nowhere/*.yaml", "nothing is there, relative to"),
        ("../rules.yaml", "leads out of the manifest's folder"),
        ("hive.yaml", "kind: has to be Rules"),
    ],
)
def test_what_names_no_rules_is_a_mistake_of_the_manifest(tmp_path: Path, pattern: str, why: str) -> None:
    found = problems_of(manifest(tmp_path, pattern))
    assert {one.path for one in found} == {"spec.ruleFiles[0]"}
    assert any(why in one.message for one in found), found


def test_where_nobody_judges_facts_rules_are_about_what_runs_give_and_others_are_refused(tmp_path: Path) -> None:
    written(tmp_path, money=MONEY)
    file = tmp_path / "hive.yaml"
    file.write_text(within("  ruleFiles: [rules]\n"))
    assert [rule.id for rule in read_manifest(file).manifest.spec.rules] == ["money"]

    written(tmp_path, money=MONEY.replace("action: escalate", "action: escalate, on: fact"))
    (found,) = problems_of(file)
    assert "is about facts, which nobody judges here; set judge.facts" in found.message


def test_without_looking_for_files_none_is_needed(tmp_path: Path) -> None:
    text = manifest(tmp_path, "nowhere.yaml").read_text()
    assert read_text(text, tmp_path, "hive.yaml").manifest.spec.rule_files == ["nowhere.yaml"]
