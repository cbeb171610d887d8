"""A home is opened, everything in its files is asked, and the replies are compared with those that stand there."""

import difflib
from collections.abc import Callable
from pathlib import Path

from tests.replay.doors import Replies
from tests.replay.homes import Home
from tests.replay.script import Step, played, steps_of

UPDATE = "make replay"


def replies(home: Home, folder: Path) -> dict[Path, str]:
    """The text of each of its files, with today's replies. What stands there first is asked first."""
    texts = dict[Path, str]()

    def play(door: str, reply: Callable[[Step], list[str]]) -> None:
        if (file := home.file(door)).exists():
            texts[file] = played(steps_of(file), reply)

    with home.opened(folder) as command:
        answers = Replies(command)
        play("commands", answers.of_command)
        home.begin(command)
        play("served", answers.of_command)
        play("http", answers.of_http)
        with answers.mcp(*home.mcp) as client:
            play("mcp", client.reply)
        home.close(command)
    return texts


def differences(file: Path, text: str) -> list[str]:
    """With what was asked above each."""
    before, after = file.read_text("utf-8").splitlines(), text.splitlines()
    return list(difflib.unified_diff(before, after, f"{file.name} (as it was)", f"{file.name} (today)", lineterm="", n=4))
