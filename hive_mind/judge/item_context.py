"""What an item shows: named texts, cut so that they fit, the longest first, saying how much is left out and where it is.

An item travels to the person who decides; so it is bounded, and shows the beginning of everything rather than all of one thing.
"""

from collections.abc import Iterable

CONTEXT_MAX_BYTES = 16_000
# Few and short enough that each text keeps room for its beginning.
_TEXTS_MAX, _NAME_MAX_BYTES, _WHERE_MAX_BYTES = 20, 60, 100

Context = tuple[tuple[str, str], ...]
"""Names and texts, in the order they are shown."""


def context_bytes(context: Context) -> int:
    """Its size in UTF-8."""
    return sum(len(part.encode(errors="replace")) for pair in context for part in pair)


def fitted(context: Iterable[tuple[str, str]], where: str = "") -> Context:
    """At most `CONTEXT_MAX_BYTES` of it. `where` says where the rest is: a file, a command."""
    pairs = [(_begun(name.encode(errors="replace"), _NAME_MAX_BYTES), _clean(text)) for name, text in context]
    pairs, left_out = pairs[:_TEXTS_MAX], len(pairs[_TEXTS_MAX:])
    where = f": {_begun(where.encode(errors='replace'), _WHERE_MAX_BYTES)}" if where else ""
    if left_out:
        pairs.append(("…", f"{left_out:,} more texts{where}"))
    room = CONTEXT_MAX_BYTES - sum(len(name.encode()) for name, _ in pairs)
    most = _allowance([len(text.encode()) for _, text in pairs], room)
    return tuple((name, _cut(text, most, where)) for name, text in pairs)


def _allowance(sizes: list[int], room: int) -> int:
    """The largest size to which all can be cut so that together they fit."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _cut(text: str, most: int, where: str) -> str:
    body = text.encode()
    if len(body) <= most:
        return text
    # The number in the final note has at most as many digits as this one.
    told = f"… [{len(body):,} more bytes{where}]".encode()
    kept = _begun(body, most - len(told))
    return f"{kept}… [{len(body) - len(kept.encode()):,} more bytes{where}]"


def _begun(body: bytes, size: int) -> str:
    """The beginning, cut between two characters."""
    return body[:size].decode(errors="ignore")


def _clean(text: str) -> str:
    """Without unpaired surrogates, which UTF-8 can't encode."""
    return text.encode(errors="replace").decode()
