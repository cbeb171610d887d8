"""Everything a page says beside its scorecard: which differences are more than chance, what stands side by side, what is missing.

Works out sentences and rows; `templates/` shows them. Answers to read are always the first there are, so that none are picked by
hand: one that has its keywords, one that lacks them and one that was declined.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import msgspec
from markupsafe import Markup, escape

from hive_mind.counted import first_of, printable
from hive_mind.evals.experiments import Row
from hive_mind.evals.metrics import metric_name
from hive_mind.evals.report import selecting
from hive_mind.evals.report.selecting import (
    BASELINES,
    EXACT,
    KINDS,
    PLACES,
    Material,
    Setting,
    arm_name,
    arm_size,
    cell_name,
    counted,
    data_name,
    fault_name,
    shown_by_category,
)
from hive_mind.evals.scorecard import CellCard, Scorecard
from hive_mind.measure import JUDGED_MIN, Difference, Estimate, share_ruled_out

PROMISED_SHARE = 0.999
"""Of questions to which every exact topology finds what one memory finds."""

# Parity is untested while one question in twenty may differ: 59 questions without a difference rule that out.
_OPEN_MAX = 0.05
_EXAMPLES = 3
_CHARACTERS_MAX = 400
_PROGRAM = "hive-mind"
# Parts of the environment that other sections show.
_ELSEWHERE = ("argv", "absent")

_Beside = tuple[Difference, CellCard, Setting]


@dataclass(frozen=True, slots=True)
class Finding:
    """A line of the summary: first words that stand out, good or bad in colour (`css`), and the rest."""

    head: str
    text: str
    css: str = ""


def findings(material: Material) -> list[Finding]:
    merged = _spread(material, ("seed-federated",), "Lists merged by rank, as the first design had it (document 004)")
    baselines = (line for kind in BASELINES for line in _spread(material, (kind,), f"Baseline, {KINDS[kind]}"))
    routed = _spread(material, ("routed",), "Asking only some agents")
    return [
        *_too_few(material), *_parity(material), *merged, *routed, *_failures(material), *baselines, *_messages(material)
    ]  # fmt: skip


def compared(material: Material) -> str:
    """All that was asked, in a sentence or two; "" where nothing has figures."""
    cells = material.card.done
    if not cells:
        return ""
    kinds = ", ".join(KINDS[kind] for kind in KINDS if any(cell.arm.kind == kind for cell in cells))
    places = "; ".join(words for place, words in PLACES.items() if any(cell.arm.place == place for cell in cells))
    questions = counted(sum(cell.questions for cell in cells), "question")
    extents: dict[str, str] = {}
    for setting in material.settings:
        extents.setdefault(data_name(material.card, setting.cells[0].data), setting.extent)
    data = "; ".join(f"{name} ({extent})" for name, extent in extents.items())
    return f"{counted(len(cells), 'cell')} in which {questions} were asked: {kinds}. Data: {data}. Ran {places}."


def _too_few(material: Material) -> Iterator[Finding]:
    few = {data_name(material.card, cell.data): cell.questions for cell in material.card.done if cell.has_too_few_questions}
    for name, questions in few.items():
        text = f" {name} has {counted(questions, 'question')}, and from {JUDGED_MIN} on anything is judged."
        yield Finding("Too few questions to judge.", text, "bad")


def _parity(material: Material) -> Iterator[Finding]:
    cells = [cell for setting in material.settings for cell in setting.of_kind(*EXACT) if _identical(cell)]
    shares = [(same.mean, cell) for cell in cells if (same := _identical(cell))]
    if not shares:
        return
    lowest, worst = min(shares, key=lambda pair: pair[0])
    # The share of questions that could differ from the single memory, at 95 %.
    counts = [(same, same.n - round(same.mean * same.n)) for cell in cells if (same := _identical(cell))]
    open_share = max(share_ruled_out(differing, same.n) for same, differing in counts)
    kinds = ", ".join(kind for kind in EXACT if any(cell.arm.kind == kind for cell in cells))
    mean = selecting.share(fmean(share for share, _ in shares), digits=2)
    least = "" if lowest == 1 else f" The lowest is {selecting.share(lowest, digits=2)} ({arm_name(worst.arm)})."
    text = (
        f" {kinds}: the identical top {material.card.limit} of one memory for {mean} of questions, over "
        f"{counted(len(cells), 'cell')}.{least} Promised are {selecting.share(PROMISED_SHARE)} or more in each; "
        f"that more than {selecting.share(open_share, digits=2)} of questions differ is ruled out in each."
    )
    # A difference found is one, however few questions there were.
    if lowest < PROMISED_SHARE:
        yield Finding("Parity does not hold.", text, "bad")
    elif open_share <= _OPEN_MAX:
        yield Finding("Parity holds.", text, "good")
    else:
        yield Finding("Too few questions to judge parity.", text, "bad")


def _identical(cell: CellCard) -> Estimate | None:
    return cell.against_single.identical_top_k if cell.against_single else None


def _failures(material: Material) -> Iterator[Finding]:
    cells = [
        (cell.system.completeness.mean, cell, setting) for setting in material.settings for cell in setting.faulty if cell.system
    ]
    if not cells:
        return
    completeness, worst, setting = min(cells, key=lambda triple: triple[0])
    differences = _beside([worst], setting, material.quality)
    where = f"{setting.name}, {arm_name(worst.arm)}, {fault_name(worst.fault)}"
    text = f": the least complete answers reached {selecting.share(completeness)} of the hive ({where})"
    quality = (
        f"; {metric_name(material.quality)} there {_against(differences[0], with_place=False)} beside single."
        if differences
        else "."
    )
    yield Finding("Under failures", text + quality)


def _messages(material: Material) -> Iterator[Finding]:
    cells = [
        (cell.system.messages.mean, cell) for setting in material.settings for cell in setting.of_kind(*EXACT) if cell.system
    ]
    if cells:
        (low, least), (high, most) = min(cells, key=lambda pair: pair[0]), max(cells, key=lambda pair: pair[0])
        ends = f"{selecting.number(low)} ({arm_name(least.arm)}) to {selecting.number(high)} ({arm_name(most.arm)})"
        yield Finding("Messages per query", f": {ends}, replies included.")


def _spread(material: Material, kinds: tuple[str, ...], title: str) -> Iterator[Finding]:
    """How far arms of these kinds are from the single memory: the furthest below, and the other end."""
    metric = material.quality
    differences = [cell for setting in material.settings for cell in _beside(setting.of_kind(*kinds), setting, metric)]
    if not differences:
        return
    ordered = sorted(differences, key=lambda triple: (triple[0].difference, triple[1].id))
    real = sum(difference.is_real and difference.difference < 0 for difference, _, _ in differences)
    text = f": {metric_name(metric)} {_against(ordered[0])}"
    if len(ordered) > 1:
        text += f"; at the other end {_against(ordered[-1])}"
    how_many = "none" if not real else "all" if real == len(differences) else selecting.number(real)
    where = f" in {how_many} of {counted(len(differences), 'cell')}" if len(differences) > 1 else ""
    yield Finding(title, text + (f". Worse than single beyond chance{where}." if where or real else "."))


def _beside(cells: Sequence[CellCard], setting: Setting, metric: str) -> list[_Beside]:
    return [
        (cell.against_single.metrics[metric], cell, setting)
        for cell in cells
        if cell.against_single and metric in cell.against_single.metrics
    ]


def _against(measured: _Beside, *, with_place: bool = True) -> str:
    difference, cell, setting = measured
    size = arm_size(cell.arm)
    place = f" on {setting.name}" + (f" with {size}" if size else "") if with_place else ""
    if difference.difference == difference.low == difference.high == 0:
        return f"equal{place}"
    sure = "" if difference.is_real else ", too few questions to judge" if difference.has_too_few_questions else ", may be chance"
    interval = selecting.between(difference.low, difference.high, is_change=True)
    return f"{selecting.change(difference.difference)} ({interval}{sure}){place}"


@dataclass(frozen=True, slots=True)
class ParityRow:
    """A topology beside the single memory. `compared` are questions, None where there is no single."""

    setting: Setting
    cell: CellCard
    compared: int | None
    differing: int
    named: str

    @property
    def ruled_out(self) -> float | None:
        return share_ruled_out(self.differing, self.compared) if self.compared else None


def names(metrics: Iterable[str], after: str = "") -> list[str]:
    return [metric_name(metric) + after for metric in metrics]


def metrics_in(cells: Sequence[CellCard], metrics_shown: Sequence[str] = ()) -> list[str]:
    """Metrics that any of the cells has: in the order wanted, or all, as they come."""
    metrics = dict.fromkeys(metric for cell in cells for metric in cell.metrics)
    return [metric for metric in metrics_shown or metrics if metric in metrics]


def figures_in(cells: Sequence[CellCard]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell.figures))


def having(cells: Sequence[CellCard], metrics: Sequence[str]) -> list[CellCard]:
    return [cell for cell in cells if any(metric in cell.metrics for metric in metrics)]


def kinds_of(chosen: Sequence[Sequence[CellCard]]) -> list[str]:
    return [kind for kind in KINDS if any(cell.arm.kind == kind for cells in chosen for cell in cells)]


def with_tokens(cells: Sequence[CellCard]) -> list[CellCard]:
    return [cell for cell in cells if cell.system and cell.system.tokens_in_total + cell.system.tokens_out_total]


_Line = tuple[str, int, list[Estimate | None]]
"""A category, or the like, its questions, and what each arm reaches there."""


def broken_out(material: Material, setting: Setting, part: str) -> Iterator[tuple[str, list[str], list[_Line]]]:
    """Each measure by category, intent or source: the names of a few arms, and a line for each value."""
    cells = shown_by_category(setting)
    values = list(dict.fromkeys(value for cell in cells for value in cell.by.get(part, {})))
    for metric in material.measures if len(values) > 1 else ():
        estimates = [(value, [cell.by.get(part, {}).get(value, {}).get(metric) for cell in cells]) for value in values]
        lines = [(value, max(mean.n for mean in means if mean), means) for value, means in estimates if any(means)]
        yield metric, [cell_name(cell, with_seed=setting.has_seeds) for cell in cells], lines


def parity_rows(material: Material) -> list[ParityRow]:
    rows = []
    for setting in material.settings:
        for cell in setting.of_kind(*EXACT):
            identical, differing = _identical(cell), material.differing(cell)
            question_names = (first_of(differing, 5) or "none") if identical else "there is no single to compare with"
            rows.append(ParityRow(setting, cell, identical.n if identical else None, len(differing), question_names))
    return rows


def answered(material: Material) -> tuple[Setting, CellCard, list[tuple[Row, str]]] | None:
    """Three questions of the first cell that has answers, each with what its labels say of it."""
    for setting in material.settings:
        for cell in setting.healthy:
            if rows := [row for row in material.run.cell(cell.id).rows.values() if row.answer]:
                return setting, cell, [(row, _label(row) or "not labelled") for row in chosen(rows)]
    return None


def chosen(rows: Sequence[Row]) -> list[Row]:
    """The first that has its keywords, the first that lacks them, the first that was declined; others where one is missing."""
    kinds = ("has its keywords", "lacks its keywords", "declined")
    firsts = [next((row for row in rows if _label(row) == kind), None) for kind in kinds]
    examples = [row for row in firsts if row is not None]
    return [*examples, *(row for row in rows if row not in examples)][:_EXAMPLES]


def _label(row: Row) -> str:
    """The labels' verdict on an answer; "" where nothing is labelled."""
    if row.metrics.get("abstained"):
        return "declined"
    if any(row.metrics.get(name) for name in ("forbidden_hit", "stale")):
        return "lacks its keywords"
    hits = [hit for name in ("keyword_hit", "required_hit") if (hit := row.metrics.get(name)) is not None]
    return ("has its keywords" if all(hits) else "lacks its keywords") if hits else ""


def clipped(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MAX else f"{text[: _CHARACTERS_MAX - 1]}{selecting.MORE}"


def left_out(material: Material) -> dict[str, dict[str, int]]:
    """Counts by data set and reason; a data set of which nothing was left out has none."""
    counts: dict[str, dict[str, int]] = {}
    for cell in material.card.cells:
        reasons = counts.setdefault(data_name(material.card, cell.data), {})
        for reason, count in cell.left_out.items():
            reasons[reason] = max(count, reasons.get(reason, 0))
    return counts


def errors(card: Scorecard) -> list[tuple[CellCard, str, int]]:
    """Questions without a result in cells that are done, by their reason."""
    return [(cell, reason, count) for cell in card.done for reason, count in cell.errors.items()]


def environment_rows(material: Material) -> list[tuple[str, str]]:
    """The place and the libraries, one value a line."""
    environment = {name: value for name, value in material.card.environment.items() if name not in _ELSEWHERE}
    embeddings = sorted({cell.embedding for cell in material.card.done if cell.embedding})
    return [*_flat(environment), *([("embedding of the cells", ", ".join(embeddings))] if embeddings else [])]


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    elif name.endswith(" bytes") and isinstance(value, int):
        yield name.removesuffix(" bytes"), selecting.size(value)
    else:
        yield name, selecting.NOTHING if value is None or value == "" else str(value)


def command(material: Material) -> str:
    argv = material.card.environment.get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list) and argv else ["eval", "run", "EXPERIMENT.yaml"]
    return shlex.join(words if words[0] == _PROGRAM else [_PROGRAM, *words])


def experiment(material: Material) -> Markup:
    text = msgspec.json.format(msgspec.json.encode(material.card.experiment), indent=2).decode()
    # Its line ends stay.
    return escape(printable(text))
