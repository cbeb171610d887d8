"""What a hive has promised so far, and whether what is seen of it keeps that.

An answer that never came promises nothing: then either outcome is right, but not first one and then the other.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass
class Oracle:
    """Facts by content, and things told by text; each is used once in a whole run."""

    kept: dict[str, str] = field(default_factory=dict)
    """Author by content: stored and acknowledged."""
    perhaps: set[str] = field(default_factory=set)
    """Stored or retracted without an answer."""
    gone: set[str] = field(default_factory=set)
    """Retracted and acknowledged."""
    stable: set[str] = field(default_factory=set)
    """Seen by everybody when all was quiet, and not touched since."""
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Receivers by text: acknowledged."""
    members: int = 4
    _seen: dict[str, set[str]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def begins_to_store(self, content: str) -> None:
        self.perhaps.add(content)

    def stored(self, author: str, content: str) -> None:
        self.perhaps.discard(content)
        self.kept[content] = author
        self.counts["facts acknowledged"] += 1

    def begins_to_retract(self, content: str) -> None:
        del self.kept[content]
        self.stable.discard(content)
        self.perhaps.add(content)

    def retracted(self, content: str) -> None:
        self.perhaps.discard(content)
        self.gone.add(content)
        self.counts["facts taken back"] += 1

    def was_told(self, text: str, receivers: Iterable[str]) -> None:
        self.told[text] = tuple(receivers)
        self.counts["things told"] += 1

    def may_retract(self, author: str) -> list[str]:
        return [content for content, by in self.kept.items() if by == author]

    def saw_during_the_storm(self, name: str, before: Collection[str], contents: Collection[str], completeness: float) -> None:
        """An answer that says it is whole has everything that was settled before it was asked for, and still is."""
        self.counts["answers"] += 1
        if completeness < 1.0:
            self.counts["answers that said they were partial"] += 1
            return
        if missing := (set(before) & self.stable) - set(contents):
            self.violations.append(f"{name} called an answer complete that lacked {sorted(missing)[:3]}")

    def lacking(self, contents: Collection[str], completeness: float) -> str:
        """What an answer lacks that everybody should see when all is quiet; "" for nothing."""
        if completeness < 1.0:
            return f"reached {completeness:.0%}"
        if missing := set(self.kept) - set(contents):
            return f"lacks {len(missing)} facts, such as {min(missing)!r}"
        if back := self.gone & set(contents):
            return f"still has {min(back)!r}, which was taken back"
        return ""

    def lacking_told(self, name: str, entries: Iterable[dict[str, object]]) -> str:
        """The same of what was told."""
        seen = Counter({str(one["text"]): int(str(one["times"])) for one in entries})
        for one, times in Counter(str(entry["text"]) for entry in entries).items():
            if times > 1 or seen[one] > 1:
                self.violations.append(f"{name} acted more than once on {one!r}")
        missing = [text for text, receivers in self.told.items() if name in receivers and text not in seen]
        return f"was not told {missing[0]!r}" if missing else ""

    def agreed(self, name: str, contents: Collection[str]) -> None:
        """What one of them sees when all is quiet; what all see is settled from then on."""
        self._seen[name] = set(contents)
        self.stable = set.intersection(*self._seen.values()) & set(self.kept) if len(self._seen) == self.members else set()
