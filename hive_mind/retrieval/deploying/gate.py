"""The gate: may a configuration take the place of the one in use? Looks at all three levels and returns a verdict.

Nothing is changed. A fleet asks here before it takes another configuration, `hive-mind retrieval deploy` does the same.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hive_mind.errors import ConfigError
from hive_mind.retrieval.checking.validation import Checked, FileFinding, check_collection, check_config, check_golden, semantic
from hive_mind.retrieval.files.changing import is_same
from hive_mind.retrieval.files.collection import Golden
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.measuring.evaluation import Bench, Index, Measurable, evaluate_held_out, held_out
from hive_mind.retrieval.measuring.measured import Evaluation
from hive_mind.retrieval.measuring.verdict import Ground, Level, Verdict, decide


async def judge_file(bench: Bench, active: RetrievalConfig | None, name: str) -> tuple[RetrievalConfig | None, Verdict]:
    """A configuration of the workspace by its name, from its form on. None where it has none.

    Raises `InvalidInput` where there is no such file.
    """
    checked = check_config(bench.workspace, name, has_embeddings=bench.has_embeddings)
    if checked.value is None or checked.errors:
        return checked.value, _refused("semantic" if checked.value else "syntactic", checked.file.name, checked.errors)
    return checked.value, await judge(bench, active, checked.value)


async def judge(bench: Bench, active: RetrievalConfig | None, candidate: RetrievalConfig) -> Verdict:
    """The verdict about a candidate. Without an active configuration it only has to do more good than harm.

    Expected trouble is a ground of the verdict. Raises `HiveError` where the workspace, its index or its model can't be used.
    """
    if active is not None and is_same(active, candidate):
        reason = f"{candidate.name!r} is identical to the configuration in use: nothing to deploy"
        return Verdict("semantic", (Ground("unchanged", reason),))
    golden = _measurable(bench, candidate)
    if isinstance(golden, Verdict):
        return golden
    async with bench.open(candidate.collection) as index:
        findings = _semantic(bench, candidate, index)
        if errors := [finding for finding in findings if finding.level == "error"]:
            return _refused("semantic", candidate.name, errors)
        measured = await evaluate_held_out(index, candidate, golden, bench.progress)
        try:
            former = await _former(bench, active, golden, candidate.collection, index)
        except ConfigError as error:
            reason = f"the configuration in use can't be measured ({error}): fix that, or replace it by force"
            return Verdict("behavioural", (Ground("unmeasurable", reason),), candidate=measured)
    verdict = decide(former, measured)
    return replace(verdict, remarks=(*(f"{finding.path}: {finding.message}" for finding in findings), *verdict.remarks))


def _measurable(bench: Bench, candidate: RetrievalConfig) -> Golden | Verdict:
    """The golden set, or why nothing can be measured with it."""
    collection = check_collection(bench.workspace, candidate.collection)
    if collection.value is None or collection.errors:
        return _refused(_level(collection), f"collections/{collection.file.name}", collection.errors)
    golden = check_golden(bench.workspace, collection.value)
    if golden.value is None or golden.errors:
        return _refused(_level(golden), f"evals/{golden.file.name}", golden.errors)
    try:
        held_out(golden.value)
    except ConfigError as error:
        return Verdict("semantic", (Ground("invalid", str(error)),))
    return golden.value


def _semantic(bench: Bench, candidate: RetrievalConfig, index: Measurable) -> tuple[FileFinding, ...]:
    collection = bench.workspace.collection(candidate.collection)
    return semantic(candidate, collection, index.facets(), bench.has_embeddings)


async def _former(
    bench: Bench, active: RetrievalConfig | None, golden: Golden, collection: str, index: Index
) -> Evaluation | None:
    """The active configuration, measured; over the same index where it is the same collection."""
    if active is None:
        return None
    if active.collection == collection:
        return await evaluate_held_out(index, active, golden, bench.progress)
    async with bench.open(active.collection) as measurable:
        return await evaluate_held_out(measurable, active, golden, bench.progress)


def _level(checked: Checked[Any]) -> Level:
    return "semantic" if checked.value is not None else "syntactic"


def _refused(level: Level, file: str, findings: Iterable[FileFinding]) -> Verdict:
    grounds = (Ground("invalid", f"{file}:{finding.line}: {finding.path}: {finding.message}") for finding in findings)
    return Verdict(level, tuple(grounds))
