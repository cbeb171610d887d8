"""Registry entries on their way: as many messages as it takes, each of a size that every broker carries."""

from collections.abc import Iterable

from hive_mind.model.messages import Announce, RegistryEntry

# What an entry takes besides its texts, and an appointment: stamp and lengths.
ENTRY_BYTES = 64


def announced(entries: Iterable[RegistryEntry], bytes_max: int) -> tuple[Announce, ...]:
    """Messages that tell these; one entry that is larger goes alone."""
    parts: list[list[RegistryEntry]] = []
    left = 0
    for entry in entries:
        size = size_of(entry)
        if not parts or size > left:
            parts.append([])
            left = bytes_max
        parts[-1].append(entry)
        left -= size
    return tuple([Announce(tuple(part)) for part in parts])


def size_of(entry: RegistryEntry) -> int:
    """About how many bytes it takes, rather too many than too few."""
    size = ENTRY_BYTES + _bytes_in(entry.key, entry.value, entry.by) + len(entry.stamp.actor) + len(entry.seal)
    if (found := entry.appointment) is not None:
        size += ENTRY_BYTES + _bytes_in(found.by) + len(found.stamp.actor) + len(found.seal)
    return size


def _bytes_in(*texts: str) -> int:
    return sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
