"""SQLite's write-ahead log, read by us: whether it has damage that SQLite would pass over in silence.

SQLite replays a log up to the first frame with a wrong checksum and takes the rest for the tail of a write that a power failure
tore. Where whole writes stand behind that frame, it was no tail: they were acknowledged, and would be gone without a word.
The format is the one documented in SQLite's "WAL-mode File Format".
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hive_mind.errors import DatabaseUnreadable

_log = logging.getLogger(__name__)

HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
# The lowest bit says in which byte order the checksums were made.
_MAGIC = 0x377F0682
_PAGE_MIN, _PAGE_MAX = 512, 65_536

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Log:
    """The frames of one generation of a log, in order; each array has shape (frames,)."""

    page_bytes: int
    pages: NDArray[np.int64]
    """page number of each"""
    ends_write: NDArray[np.bool_]
    """the last frame of a commit, by a header of this generation"""
    is_sound: NDArray[np.bool_]
    """checksum and salt are as they should be"""
    images: NDArray[np.uint8]
    """shape (frames, page_bytes)"""
    has_sound_header: bool

    @property
    def damage(self) -> str:
        """Damage that SQLite would not report, "" for none: a sound write behind a frame that is not."""
        broken = np.flatnonzero(~self.is_sound)
        first = 0 if not self.has_sound_header else int(broken[0]) if len(broken) else len(self.pages)
        ends = np.flatnonzero(self.ends_write[first:])
        torn_until = first + int(ends[0]) if len(ends) else len(self.pages)
        behind = int(np.count_nonzero((self.is_sound & self.ends_write)[torn_until + 1 :]))
        return f"frame {first + 1} of its log is damaged, and {behind} acknowledged writes stand behind it" if behind else ""

    @property
    def is_torn(self) -> bool:
        """Whether the last write is incomplete."""
        return bool(len(self.pages)) and not (self.has_sound_header and bool(self.is_sound.all()))


def refuse_damaged_log(path: Path, advice: str) -> bool:
    """Raises `DatabaseUnreadable` where SQLite would drop acknowledged writes of a damaged log without a word.

    Otherwise whether the last write in it is torn.
    """
    log = read_log(path.with_name(path.name + "-wal"))
    if log is None:
        return False
    if damage := log.damage:
        raise DatabaseUnreadable("sqlite", f"{path}: {damage}. Nothing was changed; {advice}")
    if log.is_torn:
        _log.warning("%s: the last write in its log is incomplete and left out: the machine stopped before it was done", path)
    return log.is_torn


def read_log(path: Path) -> Log | None:
    """The newest generation of frames in a log; None where there is none."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(body) < HEADER_BYTES + _FRAME_HEADER_BYTES + _PAGE_MIN:
        return None
    header = np.frombuffer(body, ">u4", 8)
    page_bytes = int(header[2])
    if not _PAGE_MIN <= page_bytes <= _PAGE_MAX or page_bytes & (page_bytes - 1):
        return None
    order = ">u4" if int(header[0]) & 1 else "<u4"
    has_sound_header = int(header[0]) & ~1 == _MAGIC and _checksum(body[:24], order, (0, 0)) == tuple(map(int, header[6:8]))
    count = (len(body) - HEADER_BYTES) // (_FRAME_HEADER_BYTES + page_bytes)
    frames = np.frombuffer(body, np.uint8, count * (_FRAME_HEADER_BYTES + page_bytes), HEADER_BYTES).reshape(count, -1)
    heads = frames[:, :_FRAME_HEADER_BYTES].copy().view(">u4")
    salts = header[4:6] if has_sound_header else heads[0, 2:4]
    has_salt = (heads[:, 2:4] == salts).all(axis=1)
    # Frames of an earlier generation behind the newest one are not part of it; one foreign salt in between may be a flipped bit.
    count = int(np.flatnonzero(has_salt)[-1]) + 1 if has_salt.any() else 0
    if not count:
        return None
    frames, heads, has_salt = frames[:count], heads[:count], has_salt[:count]
    seeds = np.vstack([header[6:8], heads[:-1, 4:6]]).astype(np.uint32)
    is_sound = has_salt & (_checksums(frames, order, seeds) == heads[:, 4:6].astype(np.uint32)).all(axis=1)
    return Log(
        page_bytes,
        heads[:, 0].astype(np.int64),
        # A frame that a power failure kept from the disk still holds one of an earlier generation, and ends nothing.
        (heads[:, 1] > 0) & has_salt,
        is_sound,
        frames[:, _FRAME_HEADER_BYTES:],
        has_sound_header,
    )


def _checksums(frames: NDArray[np.uint8], order: str, seeds: Words) -> Words:
    """The checksum of each frame, shape (frames, 2), begun with what the frame before it has stored."""
    covered = np.concatenate([frames[:, :8], frames[:, _FRAME_HEADER_BYTES:]], axis=1)
    words = np.ascontiguousarray(covered.view(order).astype(np.uint32).T)
    first, second = seeds[:, 0].copy(), seeds[:, 1].copy()
    for number in range(0, len(words), 2):
        first += words[number] + second
        second += words[number + 1] + first
    return np.stack([first, second], axis=1)


def _checksum(body: bytes, order: str, seed: tuple[int, int]) -> tuple[int, int]:
    first, second = seed
    words = np.frombuffer(body, order)
    for number in range(0, len(words), 2):
        first = (first + int(words[number]) + second) & 0xFFFFFFFF
        second = (second + int(words[number + 1]) + first) & 0xFFFFFFFF
    return first, second
