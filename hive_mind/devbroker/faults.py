"""Faults on demand: what is to go wrong, where, how often. Tests order them; the engine asks at each place that can fail."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, cast, get_args

from hive_mind.devbroker.amqp.encoding import NOT_FOUND, SERVER_BUSY, UNAUTHORIZED
from hive_mind.errors import InvalidInput

FaultKind = Literal["send", "attach", "cbs", "mgmt"]
FaultAction = Literal["error", "detach", "drop-connection", "accept-then-drop", "ignore", "delay"]

KINDS: tuple[str, ...] = get_args(FaultKind)
ACTIONS: tuple[str, ...] = get_args(FaultAction)

DELAY_S = 0.1
_DELAY_MAX_S = 3600

# The kinds of an error, by the last part of its condition.
_CONDITIONS = {
    name.rpartition(":")[2]: name
    for name in (
        SERVER_BUSY,
        NOT_FOUND,
        UNAUTHORIZED,
        "amqp:internal-error",
        "com.microsoft:timeout",
        "com.microsoft:entity-disabled",
    )
}

_FORM = (
    f"KIND:ADDRESS:WHAT[:times=N][:skip=N][:delay=SECONDS] with KIND one of {', '.join(KINDS)} "
    f"and WHAT one of {', '.join((*ACTIONS[1:], *_CONDITIONS))}"
)


@dataclass(slots=True)
class Fault:
    """Once asked for by `kind` at an address that `address` (a glob) matches, it lets `skip` pass and strikes `times` times."""

    kind: FaultKind
    address: str = "*"
    action: FaultAction = "error"
    condition: str = SERVER_BUSY
    times: int = 1
    skip: int = 0
    delay_s: float = DELAY_S


class Faults:
    """The faults that are still to happen, in the order they were asked for."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """One more. Raises `InvalidInput` for a kind or an action that does not exist."""
        if fault.kind not in KINDS:
            raise InvalidInput(f"unknown fault kind {fault.kind!r}; known: {', '.join(KINDS)}")
        if fault.action not in ACTIONS:
            raise InvalidInput(f"unknown fault action {fault.action!r}; known: {', '.join(ACTIONS)}")
        self._waiting.append(fault)

    def clear(self) -> None:
        """None of them is to happen any more."""
        self._waiting.clear()

    def take(self, kind: str, address: str) -> Fault | None:
        """The first that strikes here and now."""
        for fault in self._waiting:
            if fault.kind == kind and fnmatchcase(address.lower(), fault.address.lower()):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self._waiting.remove(fault)
                return fault
        return None


def parse_fault(text: str) -> Fault:
    """Of `KIND:ADDRESS:WHAT[:times=N][:skip=N][:delay=SECONDS]`; WHAT is an action or a condition. Raises `InvalidInput`."""
    kind, address, action_name, *details = [*text.split(":"), "", ""]
    numbers = dict(detail.partition("=")[::2] for detail in details if detail)
    action, condition = (action_name, SERVER_BUSY) if action_name in ACTIONS else ("error", _CONDITIONS.get(action_name, ""))
    try:
        times, skip, delay_s = int(numbers.pop("times", 1)), int(numbers.pop("skip", 0)), float(numbers.pop("delay", DELAY_S))
    except ValueError:
        raise InvalidInput(f"fault {text!r}: times, skip and delay must be numbers") from None
    if kind not in KINDS or not condition or numbers or times < 1 or skip < 0 or not 0 <= delay_s <= _DELAY_MAX_S:
        raise InvalidInput(f"fault {text!r}: it is {_FORM}")
    return Fault(cast("FaultKind", kind), address or "*", cast("FaultAction", action), condition, times, skip, delay_s)
