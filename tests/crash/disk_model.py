"""A disk as POSIX promises it: what was synced is there after a power failure, of all else any part.

`Disk` follows a trace. At any moment it can say what the disk may hold if the power fails now (`after_power_failure`): each
sector of a file as it was at some moment since the file's last sync, any length the file had since then, each change of a folder
since *its* sync kept or lost. A file that was cut off is cut whole or not at all, and what was then written behind the cut needs
the cut. A file's sync makes no name durable; its folder's does. 512 bytes are written whole or not at all: that is
what SQLite builds on ("powersafe overwrite") and what drives do. Pure: chance is handed in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from tests.crash.disk_trace import Change

SECTOR = 512

Arrived = Callable[[int, int], bool]
"""Whether what change number `n` since the last sync wrote into a sector reached the disk."""
Image = Mapping[str, bytes | None]
"""What is on a disk: a file's bytes, None for a folder, by path."""


@dataclass
class File:
    """`versions`: of each sector touched since the last sync, the number of the change and what the sector held after it."""

    live: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    lengths: list[int] = field(default_factory=lambda: [0])
    versions: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    cuts: dict[int, int] = field(default_factory=dict)
    """Changes that made it shorter: the first sector that is gone, by the change's number."""

    def write(self, offset: int, data: bytes) -> None:
        self.live.extend(bytes(max(0, offset - len(self.live))))
        self.live[offset : offset + len(data)] = data
        self._note(offset, offset + len(data))

    def set_length(self, length: int) -> None:
        begins, ends = sorted((length, len(self.live)))
        if length < len(self.live):
            self.cuts[len(self.lengths)] = -(-length // SECTOR)
        self.live = self.live[:length] + bytes(length - min(length, len(self.live)))
        self._note(begins, ends)

    def sync(self) -> None:
        self.durable, self.lengths, self.versions, self.cuts = bytes(self.live), [len(self.live)], {}, {}

    @property
    def is_pending(self) -> bool:
        """Whether anything was done since the last sync."""
        return len(self.lengths) > 1

    def after_power_failure(self, arrived: Arrived, length: int, unwritten: Callable[[], bytes]) -> bytes:
        """`unwritten` is what a sector holds that belongs to the file but was never written."""
        image = bytearray(self.durable[:length])
        while len(image) < length:
            image += unwritten()
        del image[length:]
        for sector, versions in self.versions.items():
            kept = next((held for number, held in reversed(versions) if arrived(number, sector)), None)
            begins = sector * SECTOR
            if kept is not None and begins < length:
                image[begins : begins + SECTOR] = kept.ljust(SECTOR, b"\0")[: length - begins]
        return bytes(image)

    def _note(self, begins: int, ends: int) -> None:
        for sector in range(begins // SECTOR, -(-ends // SECTOR)):
            held = bytes(self.live[sector * SECTOR : (sector + 1) * SECTOR])
            self.versions.setdefault(sector, []).append((len(self.lengths), held))
        self.lengths.append(len(self.live))


@dataclass
class Folder:
    """`pending`: changes since the last sync, each of them whole; a name is bound to something, or to nothing."""

    live: "dict[str, File | Folder]" = field(default_factory=dict)
    durable: "dict[str, File | Folder]" = field(default_factory=dict)
    pending: "list[dict[str, File | Folder | None]]" = field(default_factory=list)

    def bind(self, change: "dict[str, File | Folder | None]") -> None:
        self.pending.append(change)
        self.live = _bound(self.live, change)

    def sync(self) -> None:
        self.durable, self.pending = dict(self.live), []

    @property
    def is_pending(self) -> bool:
        return bool(self.pending)

    def after_power_failure(self, is_kept: Callable[[int], bool]) -> "dict[str, File | Folder]":
        names = self.durable
        for number, change in enumerate(self.pending):
            if is_kept(number):
                names = _bound(names, change)
        return names


def _bound(names: "dict[str, File | Folder]", change: "dict[str, File | Folder | None]") -> "dict[str, File | Folder]":
    return {name: what for name, what in (names | change).items() if what is not None}


class Disk:
    """One folder. `forgets` are the syncs it takes no notice of, for proving that they matter: "file", "folder"."""

    def __init__(self, *, forgets: frozenset[str] = frozenset()) -> None:
        self.root, self._forgets = Folder(), forgets
        self._by_inode: dict[int, File | Folder] = {}

    def follow(self, change: Change) -> None:
        """Do what the process did."""
        what = self._by_inode.get(change.inode)
        match change.what:
            case "D" if not change.text:
                self._by_inode[change.inode] = self.root
            case "C" | "D":
                self._by_inode[change.inode] = made = File() if change.what == "C" else Folder()
                folder, name = self._place(change.text)
                folder.bind({name: made})
            case "W" if isinstance(what, File):
                what.write(change.offset, change.data)
            case "T" if isinstance(what, File):
                what.set_length(change.offset)
            case "S" if what is not None:
                if type(what).__name__.lower() not in self._forgets:
                    what.sync()
            case "R":
                (folder, name), (target, new_name) = (self._place(path) for path in change.text.split("\n"))
                assert folder is target, f"{change}: two folders can't be changed at once"
                folder.bind({name: None, new_name: folder.live[name]})
            case "L":
                (folder, name), (target, new_name) = (self._place(path) for path in change.text.split("\n"))
                target.bind({new_name: folder.live[name]})
            case "U":
                folder, name = self._place(change.text)
                folder.bind({name: None})
            case "M":
                pass
            case _:
                raise AssertionError(f"{change}: the trace does not say how this began")

    def is_pending(self) -> bool:
        """Whether a power failure now may lose anything."""
        return any(some.is_pending for some in self._reachable(self.root))

    def holds(self) -> Image:
        """What whoever looks sees now."""
        return _image(self.root, lambda folder: folder.live, lambda file: bytes(file.live))

    def after_power_failure(self, rng: Random) -> Image:
        """What it may hold if the power fails now."""
        return _image(self.root, lambda folder: _names_left(folder, rng), lambda file: _bytes_left(file, rng))

    def _reachable(self, folder: Folder) -> "list[File | Folder]":
        inner = [some for what in folder.live.values() if isinstance(what, Folder) for some in self._reachable(what)]
        return [folder, *folder.live.values(), *inner]

    def _place(self, path: str) -> tuple[Folder, str]:
        *above, name = path.split("/")
        folder = self.root
        for part in above:
            inner = folder.live[part]
            assert isinstance(inner, Folder), f"{path} lies in a file"
            folder = inner
        return folder, name


def _image(
    folder: Folder, names: "Callable[[Folder], dict[str, File | Folder]]", content: Callable[[File], bytes], above: str = ""
) -> dict[str, bytes | None]:
    image: dict[str, bytes | None] = {}
    for name, what in names(folder).items():
        path = above + name
        if isinstance(what, Folder):
            image[path] = None
            image |= _image(what, names, content, path + "/")
        else:
            image[path] = content(what)
    return image


def _names_left(folder: Folder, rng: Random) -> "dict[str, File | Folder]":
    count = len(folder.pending)
    kept = {
        "all": set(range(count)),
        "none": set[int](),
        "first": set(range(rng.randint(0, count))),
        "any": {number for number in range(count) if rng.random() < 0.5},
    }[rng.choice(("all", "all", "none", "first", "any"))]
    return folder.after_power_failure(kept.__contains__)


def _bytes_left(file: File, rng: Random) -> bytes:
    if not file.is_pending:
        return file.durable
    drawn, last = _drawn(file, rng)
    # The first cut that was lost: nothing later is there behind it. All cuts before it are whole.
    lost = rng.choice([*file.cuts, len(file.lengths)])
    made = max((number for number in file.cuts if number < lost), default=0)

    def arrived(number: int, sector: int) -> bool:
        if number >= lost and sector >= file.cuts[lost]:
            return False
        return (number in file.cuts and sector >= file.cuts[number]) or drawn(number, sector)

    length = file.lengths[last] if made <= last < lost and rng.random() < 0.6 else rng.choice(file.lengths[made:lost])
    # Most file systems give zeros, some what a deleted file left there.
    is_zeroed = rng.random() < 0.7
    return file.after_power_failure(arrived, length, lambda: bytes(SECTOR) if is_zeroed else rng.randbytes(SECTOR))


def _drawn(file: File, rng: Random) -> tuple[Arrived, int]:
    """What arrived, and the last change of which something may have."""
    last = len(file.lengths) - 1
    cut = rng.randint(1, last)
    places = [(number, sector) for sector, versions in file.versions.items() for number, _ in versions]
    if not places:
        return (lambda _number, _sector: True), cut
    one = rng.choice(places)
    torn = sorted(sector for number, sector in places if number == cut)
    begins, ends = sorted((rng.randint(0, len(torn)), rng.randint(0, len(torn))))
    of_torn = set(torn[begins:ends])
    some = {place for place in places if rng.random() < 0.5}
    changes = {number for number in range(1, last + 1) if rng.random() < 0.5}
    drawn: dict[str, tuple[Arrived, int]] = {
        "nothing": (lambda _number, _sector: False, 0),
        "everything": (lambda _number, _sector: True, last),
        "the first": (lambda number, _sector: number <= cut, cut),
        "the last": (lambda number, _sector: number >= cut, last),
        "the first, one of them torn": (lambda number, sector: number < cut or (number == cut and sector in of_torn), cut),
        "some changes": (lambda number, _sector: number in changes, max(changes, default=0)),
        "some sectors": (lambda number, sector: (number, sector) in some, last),
        "all but one sector": (lambda number, sector: (number, sector) != one, last),
        "one sector": (lambda number, sector: (number, sector) == one, one[0]),
    }
    return drawn[rng.choice(list(drawn))]
