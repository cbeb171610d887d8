"""`spec.ruleFiles`: rules that are kept in files of their own. What they say is added to `spec.rules` when a manifest is used.

So code that runs, renders or compares manifests knows nothing of files: where a file changed, the rules did.
"""

from collections.abc import Iterator
from pathlib import Path

from hive_mind.control.manifests.checking import leads_out
from hive_mind.control.manifests.manifest import HiveManifest
from hive_mind.control.manifests.sources import matching
from hive_mind.errors import InvalidInput, RuleError
from hive_mind.forms.finding import Finding
from hive_mind.forms.reading import text_of
from hive_mind.judge.rule_file import RULES, rules_of
from hive_mind.judge.rules import EvaluationRule


def with_rule_files(manifest: HiveManifest, folder: Path) -> HiveManifest:
    """The same with what its rule files say; `folder` is that of the manifest. Raises `RuleError` or `InvalidInput`."""
    if not manifest.spec.rule_files:
        return manifest
    rules = list(manifest.spec.rules)
    for pattern in manifest.spec.rule_files:
        for file in _files(pattern, folder):
            rules += _rules_in(file)
    return manifest.model_copy(update={"spec": manifest.spec.model_copy(update={"rules": rules, "rule_files": []})})


def rule_findings(manifest: HiveManifest, folder: Path) -> Iterator[Finding]:
    """What is wrong with the files, as mistakes of the fields that name them."""
    first = {rule.id: "spec.rules" for rule in manifest.spec.rules}
    for number, pattern in enumerate(manifest.spec.rule_files):
        if not leads_out(pattern):
            for message in _wrong(pattern, folder, first):
                yield Finding(("spec", "ruleFiles", number), message)


def _wrong(pattern: str, folder: Path, first: dict[str, str]) -> Iterator[str]:
    try:
        files = _files(pattern, folder)
    except (InvalidInput, OSError, ValueError) as error:
        yield str(error)
        return
    for file in files:
        try:
            rules = _rules_in(file)
        except RuleError as error:
            yield from (one.told(error.file) for one in error.problems)
        except InvalidInput as error:
            yield str(error)
        else:
            again = [rule.id for rule in rules if first.setdefault(rule.id, str(file)) != str(file)]
            yield from (f"{file}: rule {id} stands in {first[id]}, too; choose another id" for id in again)


def _files(pattern: str, folder: Path) -> list[Path]:
    found = sorted(matching(pattern, folder))
    if not found:
        raise InvalidInput(f"nothing is there, seen from {folder}; correct the path, or make the file")
    return found


def _rules_in(file: Path) -> tuple[EvaluationRule, ...]:
    text, problems = text_of(file, RULES)
    if problems:
        raise RuleError(problems, str(file))
    return rules_of(text, str(file))
