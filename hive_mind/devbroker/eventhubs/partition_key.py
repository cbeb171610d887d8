"""Which partition a key belongs to: the service's own hash, Jenkins' lookup3, so that equal keys meet here as they do there."""

import struct

_MASK = 0xFFFFFFFF
_SEED = 0xDEADBEEF
_BLOCK = 12

# Rotations of one mixing round and of the last one, as published with the hash.
_MIX = (4, 6, 8, 16, 19, 4)


def partition_of(key: str, partitions: int) -> int:
    """The number of a key's partition."""
    value = _hash(key.encode("utf-8")) & 0xFFFF
    signed = value - 0x10000 if value & 0x8000 else value
    # The service takes the remainder towards zero; Python's own would differ for about half of all keys.
    return abs(signed) % partitions


def _hash(data: bytes) -> int:
    a = b = c = (_SEED + len(data)) & _MASK
    full = max(0, (len(data) - 1) // _BLOCK) * _BLOCK
    for start in range(0, full, _BLOCK):
        a, b, c = _mixed(*_added(a, b, c, data[start : start + _BLOCK]))
    if data:
        a, b, c = _finished(*_added(a, b, c, data[full:].ljust(_BLOCK, b"\0")))
    return b ^ c


def _added(a: int, b: int, c: int, block: bytes) -> tuple[int, int, int]:
    x, y, z = struct.unpack("<III", block)
    return (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for rotation in _MIX:
        a = ((a - c) & _MASK) ^ _rotated(c, rotation)
        c = (c + b) & _MASK
        # The three take turns: next comes what b was, then c.
        a, b, c = b, c, a
    return a, b, c


def _finished(a: int, b: int, c: int) -> tuple[int, int, int]:
    c = ((c ^ b) - _rotated(b, 14)) & _MASK
    a = ((a ^ c) - _rotated(c, 11)) & _MASK
    b = ((b ^ a) - _rotated(a, 25)) & _MASK
    c = ((c ^ b) - _rotated(b, 16)) & _MASK
    a = ((a ^ c) - _rotated(c, 4)) & _MASK
    b = ((b ^ a) - _rotated(a, 14)) & _MASK
    c = ((c ^ b) - _rotated(b, 24)) & _MASK
    return a, b, c


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK
