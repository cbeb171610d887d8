"""The faults by name, and how bad each of them is in one run: drawn from the seed, so that calm and storm both occur."""

from dataclasses import dataclass, replace

from hive_mind.errors import InvalidInput
from hive_mind.hive.chance import Chance

FAULTS = (
    *("loss", "duplication", "partition", "crash", "disk", "restore", "clock", "stall", "churn"),
    *("liar", "forger", "theft", "eclipse", "split"),
)
SIGNED = frozenset({"liar", "forger", "theft"})
"""Faults against which members prove who they are."""

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
YEAR_MS = 365 * 24 * HOUR_MS

# An hour behind to ten years ahead; under a minute is what badly kept clocks do every day.
_CLOCK_ERRORS_MS = (-HOUR_MS, -50_000, 50_000, 40 * HOUR_MS, 10 * YEAR_MS)


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad one run is. Shares are per message or per boundary between two effects; the `_share`s of steps per operation."""

    loss: float = 0.0
    duplication: float = 0.0
    delay_ms: int = 50
    """Mean of an exponential distribution: so messages overtake each other, and the more the longer it is."""
    is_brokered: bool = False
    """Whether a broker repeats what was not acknowledged; otherwise a message comes once or never."""
    partition_share: float = 0.0
    crash_boundary_share: float = 0.0
    crash_share: float = 0.0
    loses_tails: bool = False
    sync_ms: int = 0
    """Mean time until a write is durable; meanwhile the node goes on."""
    restore_share: float = 0.0
    clock_error_ms: int = 0
    """By how much the clock of one node is wrong from the start."""
    clock_step_share: float = 0.0
    stall_share: float = 0.0
    churn_share: float = 0.0
    has_liar: bool = False
    is_signed: bool = False
    """Whether members prove who they are."""
    has_forger: bool = False
    """Whether a stranger reads and writes on the bus."""
    has_thief: bool = False
    """Whether somebody has the key of a member, until it is revoked."""
    eclipse_share: float = 0.0
    """How often a member begins to hear nobody but those who lie."""
    split_share: float = 0.0
    """How often it takes minutes until some hear of another topology."""


CALM = Weather()


def parse(text: str) -> frozenset[str]:
    """Faults named in a list like "loss,crash"; "all" and "none" are names too. Raises `InvalidInput` for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in (*FAULTS, "all", "none")]
    if unknown:
        raise InvalidInput(f"unknown fault {unknown[0]!r}: choose from {', '.join(FAULTS)}, or all, or none")
    return frozenset(FAULTS) if "all" in names else frozenset(names) - {"none"}


def drawn(faults: frozenset[str], chance: Chance) -> Weather:
    """The weather of one run. Everything is drawn whatever is switched on, so leaving a fault out changes nothing else."""
    everything = Weather(
        loss=chance.choice((0.0, 0.05, 0.2, 0.5)),
        duplication=chance.choice((0.0, 0.1, 0.3)),
        delay_ms=chance.choice((50, 1_000, 20_000)),
        is_brokered=chance.random() < 0.5,
        partition_share=0.04,
        crash_boundary_share=chance.choice((0.0, 0.0005, 0.002)),
        crash_share=0.02,
        loses_tails=chance.random() < 0.7,
        sync_ms=chance.choice((0, 20, 2_000)),
        restore_share=0.008,
        clock_error_ms=chance.choice(_CLOCK_ERRORS_MS) if chance.random() < 0.5 else 0,
        clock_step_share=0.01,
        stall_share=0.01,
        churn_share=0.012 if chance.random() < 0.5 else 0.0,
        has_liar=chance.random() < 0.3,
        is_signed=True,
        has_forger=chance.random() < 0.5,
        has_thief=chance.random() < 0.4,
        eclipse_share=0.015,
        split_share=0.5,
    )
    weather = _only(faults, everything)
    # Of five members one may lie: where one does, nobody's key is stolen.
    weather = replace(weather, has_thief=weather.has_thief and not weather.has_liar)
    # A liar's clock is wrong as it likes. A second one that is far off could make most votes wrong, where nobody can tell.
    return replace(weather, clock_error_ms=0) if weather.has_liar or weather.has_thief else weather


def _only(faults: frozenset[str], everything: Weather) -> Weather:
    belongs = {
        "loss": ("loss",),
        "duplication": ("duplication",),
        "partition": ("partition_share",),
        "crash": ("crash_boundary_share", "crash_share"),
        "disk": ("loses_tails", "sync_ms"),
        "restore": ("restore_share",),
        "clock": ("clock_error_ms", "clock_step_share"),
        "stall": ("stall_share",),
        "churn": ("churn_share",),
        "liar": ("has_liar",),
        "forger": ("has_forger",),
        "theft": ("has_thief",),
        "eclipse": ("eclipse_share",),
        "split": ("split_share",),
    }
    off = [field for fault, fields in belongs.items() if fault not in faults for field in fields]
    calm = {field: getattr(CALM, field) for field in off}
    return replace(everything, **calm, is_signed=bool(SIGNED & faults))
