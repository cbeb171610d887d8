"""Heartbeats a node has heard, and when: those of the others, and what they report of each other's boots.

Counts only its own monotonic clock. A boot that was followed by another of the same name is not believed any more; if it goes on
beating, two processes have the same name, which is reported to a person.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from hive_mind.model.messages import Beat

# Boots of a name that are remembered; beats of older ones come late by hours.
_FORMER_MAX = 4
# A hive of strangers could otherwise fill the memory.
_NAMES_MAX = 20_000
# Beats of a former boot, after it should have been silent for long, until they mean anything: one may just have come late.
_TWINS_AT = 2


# Of what a beat says in bytes: several times what ours need. And of a group's name, which is as long as a node's at most.
_WORD_MAX, _SEAL_BYTES_MAX, _GROUP_CHARACTERS_MAX = 64, 1_024, 200


def is_short(beat: Beat) -> bool:
    """Whether it takes no more than beats do."""
    words = max(len(beat.incarnation), len(beat.digest), len(beat.answers))
    return words <= _WORD_MAX and len(beat.seal) <= _SEAL_BYTES_MAX and len(beat.group) <= _GROUP_CHARACTERS_MAX


@dataclass(slots=True)
class LastHeartbeat:
    """The last beat of the boot that counts, and how far the others of this name got."""

    beat: Beat
    heard_ms: int
    since_ms: int
    """When this boot was first heard."""
    former: dict[bytes, int] = field(default_factory=dict)
    """Numbers of the last beats of boots before it."""
    strays: int = 0
    """Beats of these that came when they should have ended."""
    twin_ms: int | None = None
    """When it last was certain that two are called so."""


class Heartbeats:
    """Names and what was heard of them. Of this node's own name only another process could say anything."""

    def __init__(self, name: str, silence_ms: int) -> None:
        self.name, self._silence_ms = name, silence_ms
        self._heard: dict[str, LastHeartbeat] = {}

    def __getitem__(self, name: str) -> LastHeartbeat:
        return self._heard[name]

    def get(self, name: str) -> LastHeartbeat | None:
        """What was heard of a name."""
        return self._heard.get(name)

    def names(self) -> list[str]:
        """All that were heard, sorted; this node too."""
        return sorted(self._heard)

    def touch(self, beat: Beat, now_ms: int) -> None:
        if (own := self._heard.get(self.name)) is None:
            self._heard[self.name] = LastHeartbeat(beat, now_ms, now_ms)
        else:
            own.beat, own.heard_ms = beat, now_ms

    def hear(self, name: str, beat: Beat, now_ms: int) -> bool:
        """A beat came; whether it counts. One that was repeated, came late or is of a former boot does not."""
        heard = self._heard.get(name)
        if heard is None:
            if len(self._heard) < _NAMES_MAX:
                self._heard[name] = LastHeartbeat(beat, now_ms, now_ms)
            return name in self._heard
        if beat.incarnation != heard.beat.incarnation:
            return self._hear_other_boot(name, heard, beat, now_ms)
        if beat.number <= heard.beat.number or name == self.name:
            return False
        heard.beat, heard.heard_ms = beat, now_ms
        return True

    def is_heard(self, name: str, now_ms: int) -> bool:
        """Whether it has beaten lately."""
        heard = self._heard.get(name)
        return heard is not None and now_ms - heard.heard_ms <= self._silence_ms

    def fresh(self, now_ms: int) -> list[Beat]:
        """The last beats of all that have beaten lately."""
        return [heard.beat for heard in self._heard.values() if now_ms - heard.heard_ms <= self._silence_ms]

    def has_twin(self, name: str, now_ms: int) -> bool:
        """Whether two processes have this name."""
        heard = self._heard.get(name)
        return heard is not None and heard.twin_ms is not None and now_ms - heard.twin_ms <= 2 * self._silence_ms

    def forget(self, stay: Collection[str], before_ms: int) -> None:
        """Forget nodes last heard before that time, except these and this node."""
        gone = [name for name, heard in self._heard.items() if heard.heard_ms < before_ms and name not in stay]
        for name in gone:
            if name != self.name:
                del self._heard[name]

    def excuse(self, slept_ms: int) -> None:
        """This node slept and could hear nothing for that time: it counts as nobody's silence."""
        for heard in self._heard.values():
            heard.heard_ms += slept_ms

    def _hear_other_boot(self, name: str, heard: LastHeartbeat, beat: Beat, now_ms: int) -> bool:
        number = heard.former.get(beat.incarnation, -1)
        if beat.number <= number:
            return False
        is_new = number < 0 and name != self.name
        # Or the one that counted was itself a late echo.
        if is_new or now_ms - heard.heard_ms > self._silence_ms:
            former = {**heard.former, heard.beat.incarnation: heard.beat.number}
            former.pop(beat.incarnation, None)
            kept = dict(list(former.items())[-_FORMER_MAX:])
            self._heard[name] = LastHeartbeat(beat, now_ms, now_ms, kept, twin_ms=heard.twin_ms)
            return True
        heard.former[beat.incarnation] = beat.number
        if now_ms - heard.since_ms > self._silence_ms:
            heard.strays += 1
            if heard.strays >= _TWINS_AT:
                heard.twin_ms = now_ms
        return False
