"""Which boots live now. A seal is good for ever, so what a boot once said can be kept by a stranger and said again later.

A boot is believed once it has answered: its answer names a beat of this boot, of the time since it was first asked or later. From
then on the numbers of its beats tell a new one from one that was kept; after a silence it has to answer again, for of those that
were lost meanwhile nobody knows when they were said.
"""

from hive_mind.model.messages import Beat

_NUMBER_BYTES = 8
# Boots that were asked and have not answered: only of names with a key, as their seals are good.
_ASKED_MAX = 1_000


def mark_of(beat: Beat) -> bytes:
    """What an answer to this beat names."""
    return beat.incarnation + beat.number.to_bytes(_NUMBER_BYTES, "big")


class LivingBoots:
    """As one boot knows them; `incarnation` is its own, drawn anew each time, so no answer to an earlier boot is one to it."""

    def __init__(self, incarnation: bytes) -> None:
        self._incarnation = incarnation
        self._living: dict[str, bytes] = {}
        self._asked: dict[tuple[str, bytes], tuple[int, int]] = {}
        """By name and incarnation: the number of the first beat that asked, and when it was asked last."""

    def lives(self, name: str, beat: Beat, *, is_heard: bool) -> bool:
        """Whether the boot that sent this beat has answered, by this beat or, if it was heard lately, by an earlier one."""
        if is_heard and self._living.get(name) == beat.incarnation:
            return True
        first, _ = self._asked.get((name, beat.incarnation), (None, 0))
        own, number = beat.answers[:-_NUMBER_BYTES], int.from_bytes(beat.answers[-_NUMBER_BYTES:], "big")
        if first is None or own != self._incarnation or number < first:
            return False
        self._living[name] = beat.incarnation
        del self._asked[name, beat.incarnation]
        return True

    def is_to_ask(self, name: str, beat: Beat, number: int, now_ms: int, every_ms: int) -> bool:
        """Whether to ask that boot now, by the beat of this number; it is asked no more often than `every_ms`."""
        boot = name, beat.incarnation
        first, asked_ms = self._asked.pop(boot, (number, now_ms - every_ms))
        is_due = now_ms - asked_ms >= every_ms
        self._asked[boot] = first, now_ms if is_due else asked_ms
        if len(self._asked) > _ASKED_MAX:
            del self._asked[next(iter(self._asked))]
        return is_due
