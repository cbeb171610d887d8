"""The first thing on the page: the arms compared, and the differences that are more than chance."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean

from hive_mind.evals.report import figures
from hive_mind.evals.report.figures import counted
from hive_mind.evals.report.markup import Column, Content, Markup, joined, table, tag
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import BASELINES, KINDS, PLACES, arm_name, arm_size, fault_name, metric_name
from hive_mind.evals.report.sections.answers import at_a_glance
from hive_mind.evals.report.selecting import EXACT, Setting, data_name, representatives
from hive_mind.evals.report.values import against, estimate, paragraph, section
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure.differences import JUDGED_MIN, Difference
from hive_mind.measure.intervals import share_ruled_out

PROMISED_SHARE = 0.999
"""Of questions to which every exact topology finds what one memory finds."""

# Parity is untested while one question in twenty may differ: 59 questions without a difference rule that out.
_OPEN_MAX = 0.05

Finding = Iterator[Markup]
Beside = tuple[Difference, CellCard, Setting]


def summary(material: Material) -> Markup:
    """The arms compared in a paragraph, real differences in a list, the rest at a glance."""
    parts: tuple[Callable[[Material], Finding], ...] = (
        _too_few,
        _parity,
        _merged_by_rank,
        _fan_out,
        _failures,
        _baselines,
        _messages,
    )
    markups = [tag("li", markup) for part in parts for markup in part(material)]
    real = joined(tag("h3", "What came out"), tag("ul", markups, class_="findings")) if markups else Markup()
    return section("summary", "In short", _compared(material), _failed(material), real, _glance(material), at_a_glance(material))


def _compared(material: Material) -> Markup:
    cells = material.card.done
    if not cells:
        return paragraph("No cell has figures.")
    kinds = ", ".join(KINDS[kind] for kind in KINDS if any(cell.arm.kind == kind for cell in cells))
    places = "; ".join(words for place, words in PLACES.items() if any(cell.arm.place == place for cell in cells))
    asked = counted(sum(cell.questions for cell in cells), "question")
    return joined(
        paragraph(f"{counted(len(cells), 'cell')} in which {asked} were asked: {kinds}. Data: {_data(material)}. Ran {places}."),
        paragraph(
            "Every arm learned the same documents and was asked the same questions; apart from the baselines and lists merged by "
            "rank, all rank in the same way. Intervals are 95 %. A difference is called better or worse only where chance is "
            "ruled out with all that was compared here taken into account (paired randomisation test, Holm's correction)."
        ),
    )


def _data(material: Material) -> str:
    extents: dict[str, str] = {}
    for setting in material.settings:
        extents.setdefault(data_name(material.card, setting.cells[0].data), setting.extent)
    return "; ".join(f"{name} ({extent})" for name, extent in extents.items())


def _failed(material: Material) -> Markup:
    missing = material.card.without_figures
    if not missing:
        return Markup()
    words = f"{len(missing)} of {counted(len(material.card.cells), 'cell')} {'has' if len(missing) == 1 else 'have'} no figures"
    return paragraph(tag("strong", words, class_="bad"), ": ", tag("a", "which, and why", href="#failed"), ".")


def _too_few(material: Material) -> Finding:
    few = {data_name(material.card, cell.data): cell.questions for cell in material.card.done if cell.has_too_few_questions}
    for name, questions in few.items():
        text = f" {name} has {counted(questions, 'question')}, and from {JUDGED_MIN} on anything is judged."
        yield joined(tag("strong", "Too few questions to judge.", class_="bad"), text)


def _parity(material: Material) -> Finding:
    cells = [
        (share, cell) for setting in material.settings for cell in setting.of_kind(*EXACT) if (share := _share(cell)) is not None
    ]
    if not cells:
        return
    lowest, worst = min(cells, key=lambda one: one[0])
    open_share = max(_share_open(cell) for _, cell in cells)
    verdict, css = _parity_verdict(lowest, open_share)
    kinds = ", ".join(kind for kind in EXACT if any(cell.arm.kind == kind for _, cell in cells))
    mean = figures.share(fmean(share for share, _ in cells), digits=2)
    least = "" if lowest == 1 else f" The lowest is {figures.share(lowest, digits=2)} ({arm_name(worst.arm)})."
    yield joined(
        tag("strong", verdict, class_=css),
        f" {kinds}: the identical top {material.card.limit} of one memory for {mean} of questions, ",
        f"over {counted(len(cells), 'cell')}.{least} Promised are {figures.share(PROMISED_SHARE)} or more in each; ",
        f"that more than {figures.share(open_share, digits=2)} of questions differ is ruled out in each.",
    )


def _parity_verdict(lowest: float, open_share: float) -> tuple[str, str]:
    """In words, and whether that is good; a difference found is one, however few questions there were."""
    if lowest < PROMISED_SHARE:
        return "Parity does not hold.", "bad"
    return ("Parity holds.", "good") if open_share <= _OPEN_MAX else ("Too few questions to judge parity.", "bad")


def _share_open(cell: CellCard) -> float:
    """The share of questions that could differ from the single memory, at 95 %."""
    found = cell.against_single.identical_top_k if cell.against_single else None
    return share_ruled_out(found.n - round(found.mean * found.n), found.n) if found else 1.0


def _merged_by_rank(material: Material) -> Finding:
    yield from _spread(material, ("seed-federated",), "Lists merged by rank, as the first design had it (document 004)")


def _fan_out(material: Material) -> Finding:
    yield from _spread(material, ("routed",), "Asking only some agents")


def _baselines(material: Material) -> Finding:
    for kind in BASELINES:
        yield from _spread(material, (kind,), f"Baseline, {KINDS[kind]}")


def _failures(material: Material) -> Finding:
    cells = [
        (cell.system.completeness.mean, cell, setting) for setting in material.settings for cell in setting.faulty if cell.system
    ]
    if not cells:
        return
    completeness, worst, setting = min(cells, key=lambda one: one[0])
    beside = _beside([worst], setting, material.quality)
    yield joined(
        tag("strong", "Under failures"),
        f": the least complete answers reached {figures.share(completeness)} of the hive ({setting.name}, ",
        f"{arm_name(worst.arm)}, {fault_name(worst.fault)})",
        f"; {metric_name(material.quality)} there {_against(beside[0], with_place=False)} beside single." if beside else ".",
    )


def _messages(material: Material) -> Finding:
    cells = [
        (cell.system.messages.mean, cell) for setting in material.settings for cell in setting.of_kind(*EXACT) if cell.system
    ]
    if cells:
        (low, least), (high, most) = min(cells, key=lambda one: one[0]), max(cells, key=lambda one: one[0])
        words = (
            f": {figures.number(low)} ({arm_name(least.arm)}) to {figures.number(high)} ({arm_name(most.arm)}), replies included."
        )
        yield joined(tag("strong", "Messages per query"), words)


def _spread(material: Material, kinds: tuple[str, ...], title: str) -> Finding:
    """How far arms of these kinds are from the single memory: the furthest below, and the other end."""
    metric = material.quality
    beside = [one for setting in material.settings for one in _beside(setting.of_kind(*kinds), setting, metric)]
    if not beside:
        return
    ordered = sorted(beside, key=lambda one: (one[0].difference, one[1].id))
    real = sum(difference.is_real and difference.difference < 0 for difference, _, _ in beside)
    text = f": {metric_name(metric)} {_against(ordered[0])}"
    if len(ordered) > 1:
        text += f"; at the other end {_against(ordered[-1])}"
    how_many = "none" if not real else "all" if real == len(beside) else figures.number(real)
    where = f" in {how_many} of {counted(len(beside), 'cell')}" if len(beside) > 1 else ""
    yield joined(tag("strong", title), text, f". Worse than single beyond chance{where}." if where or real else ".")


def _glance(material: Material) -> Markup:
    """One arm of each kind, a column for each data set."""
    chosen = [representatives(setting.healthy, tuple(KINDS)) for setting in material.settings]
    kinds = [kind for kind in KINDS if any(cell.arm.kind == kind for cells in chosen for cell in cells)]
    columns: list[Column[str]] = [Column("arm", lambda kind: KINDS[kind])]
    for setting, cells in zip(material.settings, chosen, strict=True):
        columns.append(Column(setting.name, partial(_glanced, cells, material.quality)))
    seeds = sorted({cell.seed for cells in chosen for cell in cells})
    of_seed = f", of seed {' or '.join(map(str, seeds))}" if any(setting.has_seeds for setting in material.settings) else ""
    note = f"single: its mean; the others: beside it. The largest arm of each kind{of_seed}"
    return table(f"{metric_name(material.quality)} at a glance", columns, kinds, note=note)


def _glanced(cells: Sequence[CellCard], metric: str, kind: str) -> Content:
    cell = next((card for card in cells if card.arm.kind == kind), None)
    if cell is None:
        return figures.NOTHING
    return estimate(cell.metrics.get(metric)) if kind == SINGLE else against(cell, metric)


def _beside(cells: Sequence[CellCard], setting: Setting, metric: str) -> list[Beside]:
    return [
        (cell.against_single.metrics[metric], cell, setting)
        for cell in cells
        if cell.against_single and metric in cell.against_single.metrics
    ]


def _against(beside: Beside, *, with_place: bool = True) -> str:
    one, cell, setting = beside
    size = arm_size(cell.arm)
    place = f" on {setting.name}" + (f" with {size}" if size else "") if with_place else ""
    if one.difference == one.low == one.high == 0:
        return f"equal{place}"
    sure = "" if one.is_real else ", too few questions to judge" if one.has_too_few_questions else ", may be chance"
    return f"{figures.change(one.difference)} ({figures.between(one.low, one.high, is_change=True)}{sure}){place}"


def _share(cell: CellCard) -> float | None:
    identical_top_k = cell.against_single.identical_top_k if cell.against_single else None
    return identical_top_k.mean if identical_top_k else None
