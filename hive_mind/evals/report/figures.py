"""How figures and cells are written: short enough to be read, and a dash where nothing was measured. Never a zero for something
unknown. Names of cells have only the parts that tell them apart.
"""

from collections.abc import Iterable

from hive_mind.evals.experiments.values import Arm, Fault
from hive_mind.evals.scorecard import CellCard
from hive_mind.hive.topology.spec import NAMES, reads

NOTHING = "–"
MORE = "…"
FILTERS = ("share", "score", "change", "number", "size", "milliseconds", "seconds", "money", "counted")
"""Those that a template writes a value with."""
_THIN = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"


def share(value: float | None, *, digits: int = 1) -> str:
    """A share as per cent. Less than all is never rounded up to all, nor more than nothing down to nothing."""
    if value is None:
        return NOTHING
    digits_text = f"{100 * value:.{digits}f}"
    step = 10.0**-digits
    if digits_text == f"{100:.{digits}f}" and value < 1:
        return f"{100 - step:.{digits}f}{_THIN}%"
    if float(digits_text) == 0 and value > 0:
        return f"< {step:g}{_THIN}%"
    return f"{digits_text}{_THIN}%"


def score(value: float | None) -> str:
    return NOTHING if value is None else _signed(f"{value:.3f}")


def change(value: float | None) -> str:
    return NOTHING if value is None else _signed(f"{value:+.3f}")


def between(low: float | None, high: float | None, *, is_change: bool = False) -> str:
    if low is None or high is None:
        return NOTHING
    write = change if is_change else score
    return f"{write(low)} to {write(high)}"


def chance(p: float | None) -> str:
    """How often chance alone would part two arms so far."""
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None) -> str:
    """A count or a mean of counts: three digits that matter, groups of three."""
    if value is None:
        return NOTHING
    if value == int(value) or abs(value) >= 100:
        return _signed(f"{value:,.0f}".replace(",", _THIN))
    return _signed(f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}")


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB"):
        if abs(value) < 1000:
            return f"{_three(value)}{_THIN}{unit}"
        value /= 1000
    return f"{_three(value)}{_THIN}GB"


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{_three(value)}{_THIN}ms" if value < 1000 else seconds(value / 1000)


def seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    if value < 1:
        return f"{_three(value * 1000)}{_THIN}ms"
    return f"{_three(value)}{_THIN}s" if value < 120 else f"{_three(value / 60)}{_THIN}min"


def money(value: float | None) -> str:
    """US dollars; small amounts are not rounded to nothing."""
    if value is None:
        return NOTHING
    return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def counted(how_many: int, noun: str, plural: str = "") -> str:
    return f"{number(how_many)} {noun if how_many == 1 else plural or noun + 's'}"


def counted_among(how_many: Iterable[int], noun: str) -> str:
    """ "47 to 75 questions", from the fewest to the most; "75 questions" where all are as many."""
    counts = sorted(set(how_many))
    fewest = f"{number(counts[0])} to " if len(counts) > 1 else ""
    return fewest + counted(counts[-1], noun)


def _three(value: float) -> str:
    if value == int(value) or value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _signed(text: str) -> str:
    return text.replace("-", _MINUS)


KINDS: dict[str, str] = {
    **{name: name for name in NAMES},
    "running": "the agent that runs",
    "seed-federated": "lists merged by rank",
    "routed": "nearest agents only",
    "bm25": "BM25 alone",
    "random": "random",
    "full-context": "full context",
}
BASELINES = ("bm25", "random", "full-context")
PLACES: dict[str, str] = {"in-process": "in process", "redis": "processes over Redis", "simulator": "simulator, virtual time"}


def arm_name(arm: Arm) -> str:
    """An arm with what tells it from others of its kind."""
    return ", ".join(part for part in (KINDS[arm.kind], arm_size(arm)) if part)


def arm_size(arm: Arm) -> str:
    """The part of an arm's name that tells it from others of its kind; "" for one that has no others."""
    if arm.agents < 2:
        return ""
    agents = counted(arm.agents, "agent")
    parts = [
        f"{agents} in {counted(arm.groups, 'group')}"
        if arm.groups
        else f"{arm.fan_out} of {agents} asked"
        if arm.fan_out
        else agents
    ]
    if reads(arm.kind, "replicas") and arm.replicas != Arm().replicas:
        parts.append(counted(arm.replicas, "replica"))
    if arm.deal != Arm().deal:
        parts.append(f"dealt by {arm.deal.removeprefix('by ')}")
    return ", ".join(parts)


def cell_name(cell: CellCard, *, with_seed: bool = False) -> str:
    parts = [arm_name(cell.arm)]
    if cell.arm.place != "in-process":
        parts.append(PLACES[cell.arm.place].split(",")[0])
    if cell.fault != Fault():
        parts.append(fault_name(cell.fault))
    return ", ".join([*parts, f"seed {cell.seed}"] if with_seed else parts)


def fault_name(fault: Fault) -> str:
    parts = []
    if fault.down:
        parts.append(f"{counted(fault.down, 'node')} down")
    if fault.loss:
        parts.append(f"{share(fault.loss, digits=0)} of messages lost")
    if fault.slow:
        parts.append(f"{counted(fault.slow, 'member')} {fault.slow_ms} ms late")
    return ", ".join(parts) or "none"
