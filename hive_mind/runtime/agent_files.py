"""Where an agent's files are in a home folder, and which names can be written down."""

from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex
from hive_mind.runtime.settings import Settings
from hive_mind.sqlite import is_half_replaced

_AGENT_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def database_path(settings: Settings, agent: str) -> Path:
    """Where an agent's database is. Raises `InvalidInput` for a name that is no plain file name."""
    if not _AGENT_NAME.fullmatch(agent):
        raise InvalidInput(
            f"{agent!r} can't be an agent's name: up to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
        )
    return settings.home / "agents" / agent / "memory.sqlite"


def is_kept(settings: Settings, agent: str) -> bool:
    """Whether an agent has a record, even one that was being replaced when a process was killed."""
    path = database_path(settings, agent)
    return path.exists() or is_half_replaced(path)


def ledger_path(settings: Settings, agent: str) -> Path:
    """Where an agent's ledger is: runs, judgements, questions. Raises `InvalidInput` for a name that is no plain file name."""
    return database_path(settings, agent).with_name("ledger.sqlite")


def refuse_unwritable_name(path: Path, advice: str) -> None:
    """A disk takes any bytes for a name; Kuzu, and whatever keeps a path as text, takes UTF-8. Raises `InvalidInput`."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{path}: this name is no UTF-8: {advice}") from None
