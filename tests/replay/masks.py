"""What of a reply differs from run to run or says nothing to others: ids, times, places, ports, durations, counts of use.

A reply is masked where it is a number by the name of its field, and where it is text by what it looks like.
"""

import json
import re
import sys
from typing import Any

_WIDTH = 128
_SHOWN = 3
"""Digits of a fraction: the last ones depend on the machine's arithmetic."""

_VOLATILE = re.compile(
    r"(?:^|_)(?:pid|port|age|lag|cpu|rss|uptime|since|bytes|size|load|ms|us|s|at|updated|started|restarts|mtime|version|digest)$"
    r"|_bytes|memory_mb|token|last_heard|epoch|generation|^unacknowledged$|^waiting$"
)
# Which of those that hold a fact was asked.
_WHO = {"asked", "held_by"}
_TEXTS = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{7,}\b"), "<id>"),
    (re.compile(r"(?<=localhost:)\d+|(?<=127\.0\.0\.1:)\d+|(?<=\bport )\d+"), "<port>"),
    (re.compile(r"\b(?:process|pid) \d+"), "process <pid>"),
    # Each of those that hold a fact may be the one that is asked, and a log may have one line more.
    (re.compile(r"(?<=held by )\w+"), "<member>"),
    (re.compile(r"(?<=the last it said: ).*"), "<line>"),
    (re.compile(r"(?<=errors\.pydantic\.dev/)[\d.]+"), "<version>"),
    (re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{42,}=+"), "<key>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?: ?(?:ns|µs|ms|s|min|h|kB|MB|GB|KiB|MiB|GiB|bytes|B)|[mdwy])\b"), "<amount>"),
    (
        re.compile(r"(?<=\bin )\d+ (?:seconds?|minutes?|hours?|days?)|\b\d+ (?:seconds?|minutes?|hours?|days?)(?= ago)"),
        "<amount>",
    ),
]


def masked_text(text: str, folder: str, version: str) -> str:
    """With `folder`, where all of a replay lies, as /replay."""
    for place in sorted({folder, folder.removeprefix("/private")}, key=len, reverse=True):
        text = text.replace(place, "/replay")
    text = text.replace(sys.executable, "python").replace(version, "<version>")
    for pattern, mask in _TEXTS:
        text = pattern.sub(mask, text)
    return text


def masked(value: Any, folder: str, version: str, name: str = "") -> Any:
    """The same for what was JSON."""
    if name in _WHO and value:
        return "<members>"
    if isinstance(value, dict):
        return {masked_text(key, folder, version): masked(one, folder, version, key) for key, one in sorted(value.items())}
    if isinstance(value, list):
        entries = [masked(one, folder, version, name) for one in value]
        # Facts that one text made are as new as one another, or not, as the clock has it.
        is_listing = all(isinstance(one, dict) and "fact_id" in one and "score" not in one for one in entries)
        return sorted(entries, key=lambda fact: str(fact.get("content"))) if is_listing else entries
    if isinstance(value, str):
        return masked_text(value, folder, version)
    if isinstance(value, bool) or value is None:
        return value
    if _VOLATILE.search(name):
        return "<number>"
    return float(f"{value:.{_SHOWN}g}") if isinstance(value, float) else value


def shape(value: Any) -> Any:
    """Names alone, of a list those of its first entry: for what is a measurement."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return "…"


def laid_out(value: Any, indent: int = 0) -> list[str]:
    """Lines of JSON: what fits into one stands on one, so that a difference is a line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= _WIDTH or not isinstance(value, dict | list) or not value:
        return [" " * indent + line]
    pairs = list(value.items()) if isinstance(value, dict) else [(None, one) for one in value]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    lines = [" " * indent + opening]
    for place, (name, one) in enumerate(pairs):
        inner = laid_out(one, indent + 1)
        if name is not None:
            inner[0] = f"{' ' * (indent + 1)}{json.dumps(name, ensure_ascii=False)}: {inner[0].lstrip()}"
        inner[-1] += "," if place < len(pairs) - 1 else ""
        lines += inner
    return [*lines, " " * indent + closing]
