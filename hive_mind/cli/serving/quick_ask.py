"""`hive-mind ask` where the resident process has the memory open: put to it before the command line is loaded.

The answer takes some tens of milliseconds; loading what reads any command takes several times that. Anything but such a
question, and every failure, is left to the command itself, which asks anew and says what is the matter.
"""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from hive_mind import __version__
from hive_mind.errors import HiveError
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.worker_http import body_within, request_bytes, waiting_line

# As `cli.running` has it, which is not loaded.
_NO_READER, _FAILED = 141, 1
_OPTIONS = {"--agent": "agent", "-a": "agent", "--home": "home", "--limit": "limit", "-n": "limit", "--method": "method"}
_OPTIONS |= {"--output": "output", "-o": "output", "--as-of": "as_of"}
_NUMBER, _NAME = re.compile(r"[0-9]{1,4}"), re.compile(r"[A-Za-z0-9._-]{1,64}")
_AGENT, _FLEET = "default", "resident"


def asked_and_answered(arguments: Sequence[str]) -> bool:
    """Whether this was such a question, and its answer is printed."""
    if (options := _given(arguments)) is None or (reply := _reply(options)) is None:
        return False
    try:
        _show(options, reply)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_NO_READER)
    return True


def _given(arguments: Sequence[str]) -> dict[str, str] | None:
    """A question with its options; None for anything that is not as simple as that."""
    if arguments[:1] != ["ask"]:
        return None
    options, words = dict[str, str](), iter(arguments[1:])
    for word in words:
        option, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--explain":
            options["explain"] = word
        elif option in _OPTIONS:
            options[_OPTIONS[option]] = value if is_joined else next(words, "")
        elif word.startswith("-") or "question" in options:
            return None
        else:
            options["question"] = word
    return options if options.get("question", "").strip() and options.get("output", "text") in ("text", "json") else None


def _reply(options: dict[str, str]) -> Any:
    """The answer of the resident process; None where there is none, or it does not answer."""
    from hive_mind.cli.output import printable

    limit, agent = options.get("limit", "10"), options.get("agent") or _AGENT
    if not _NUMBER.fullmatch(limit) or not _NAME.fullmatch(agent):
        return None
    try:
        settings = Settings.from_environment()
        home = Path(options["home"]) if options.get("home") else settings.home
        contact = _contact(home)
        request = {"question": printable(options["question"]), "limit": int(limit), "method": options.get("method", "hybrid")}
        request |= {"as_of": options["as_of"]} if "as_of" in options else {}
        return _called(contact, agent, request, settings.timeout_s)
    except (OSError, ValueError, KeyError, TypeError, HiveError):
        return None


def _contact(home: Path) -> Any:
    """How the one process of the only fleet is reached. Raises `OSError` or `ValueError`."""
    if [folder.name for folder in (home / "fleets").iterdir() if folder.is_dir()] != [_FLEET]:
        raise ValueError(home)
    (file,) = (home / "fleets" / _FLEET / "run").glob("*.json")
    contact = json.loads(file.read_bytes())
    if not isinstance(contact, dict) or contact.get("version") != __version__:
        # The whole command line says so, and asks it all the same.
        raise ValueError(contact)
    return contact


def _called(contact: Any, agent: str, request: dict[str, object], timeout_s: float) -> Any:
    sent = request_bytes("POST", f"/v1/agents/{agent}/ask", contact["token"], json.dumps(request).encode())
    try:
        reply = json.loads(body_within(int(contact["port"]), sent, timeout_s, _say_waiting))
    except TimeoutError:
        _give_up(contact, timeout_s)
    return reply["ok"]


def _say_waiting(waited_s: float) -> None:
    from hive_mind.cli.output import say

    say(waiting_line(_FLEET, waited_s), style="dim")


def _give_up(contact: Any, timeout_s: float) -> NoReturn:
    """The command itself would only wait for the same process again."""
    from hive_mind.cli.output import say
    from hive_mind.runtime.asking import silence
    from hive_mind.runtime.workers.status import Contact

    process = Contact(
        str(contact.get("process", _FLEET)), int(contact.get("pid", 0)), float(contact.get("started", 0)), 0, "", ""
    )
    say(f"error: {silence(process, timeout_s)}", style="red")
    sys.exit(_FAILED)


def _show(options: dict[str, str], reply: Any) -> None:
    from hive_mind.cli.asking.answer_shown import show_reply
    from hive_mind.cli.output import say, spell_out_unknown_characters

    spell_out_unknown_characters()
    agent = options.get("agent") or _AGENT
    say(f"using agent {agent} of fleet {_FLEET}", style="dim")
    request = {"question": options["question"], "fleet": _FLEET, "agent": agent}
    show_reply(request, reply, is_json=options.get("output") == "json", explain="explain" in options)
    sys.stdout.flush()
