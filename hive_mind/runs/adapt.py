"""`adapt.md`, an agent's working memory: the agent and people write to it, and each of the agent's prompts contains it.

`## Identity` is seeded once, `## Rules` is free for agent and people, `## Outputs` has one line for each output of runs that
were accepted: an output belongs to its run until then. The program only ever changes that section; a person's text stays.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from hive_mind.regex import regex

FILE = "adapt.md"
CHARACTERS_MAX = 20_000
VALUE_CHARACTERS = 500
_OUTPUTS = "## Outputs"
_HEADING = regex(r"^## ", re.MULTILINE)


def seeded(identity: str, accounts: Iterable[str] = ()) -> str:
    """The first text: the agent's identity, and the names of its accounts."""
    account_lines = "".join(f"- account: {name}\n" for name in accounts)
    return f"## Identity\n{identity.strip() or 'An agent of hive-mind.'}\n{account_lines}\n## Rules\n\n{_OUTPUTS}\n"


def with_output(text: str, key: str, value: Any) -> str:
    """With the line of this output, in place of the one it had. A line that would not fit is left out."""
    line = f"- {key}: {_one_line(value)}"
    before, section, after = _around(text)
    lines = section.split("\n")
    prefix = f"- {key}: "
    at = next((number for number, line in enumerate(lines) if line.startswith(prefix)), None)
    if at is not None:
        lines[at] = line
    else:
        end = max((number for number, line in enumerate(lines) if line.strip()), default=0)
        lines.insert(end + 1, line)
    changed = before + "\n".join(lines) + after
    return changed if len(changed) <= CHARACTERS_MAX else text


def outputs_in(text: str) -> frozenset[str]:
    _, section, _ = _around(text)
    return frozenset(line for line in section.split("\n")[1:] if line.strip())


def _around(text: str) -> tuple[str, str, str]:
    """The text before the section of outputs, the section with its heading, and the text behind it."""
    start = next((match.start() for match in re.finditer(r"^## Outputs\s*$", text, re.MULTILINE)), None)
    if start is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return text + gap, f"{_OUTPUTS}\n", ""
    following = _HEADING.search(text, start + len(_OUTPUTS))
    end = following.start() if following else len(text)
    section = text[start:end]
    return text[:start], section if section.endswith("\n") else f"{section}\n", text[end:]


def _one_line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"
