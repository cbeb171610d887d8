"""The settings that a person can make, and the only place that reads the environment.

Every setting has a default that works without a key or a broker; without the embedding model keywords have to do.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hive_mind.counted import did_you_mean
from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import Bounds, refuse_other_than, shown_value
from hive_mind.model.query import ANSWERING
from hive_mind.regex import regex
from hive_mind.runtime.worker_http import SILENCE_S

if TYPE_CHECKING:
    from hive_mind.retry import RetrySettings


DEFAULT_EMBEDDING_MODEL = "BAAI/bge-base-en-v1.5"

# 1,000 questions take some seconds: less than the patience of a client, and more than come while a process is busy with itself.
HTTP_REQUESTS_MAX = 1000

LOCK_WAIT_S = 30
"""Of commands and processes. Hooks, cron and an editor start commands at once: one that writes is usually done by then."""

_PREFIX = "HIVE_MIND_"
_DIGITS_MAX = 18
_NUMBERS = {"token_budget": 0, "llm_timeout_s": 1, "llm_tries": 1, "lock_wait_s": 0, "http_requests_max": 1, "timeout_s": 1}
"""The least that each may be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Names of back ends are their file names. Secrets are read where they are used and never kept here."""

    home: Path = Path(".hive")
    """Folder of everything that is kept."""
    store: str = "sqlite"
    """"sqlite", or "memory" to keep nothing."""
    embed: str = "sentence_transformers"
    """"none" for keyword search, "sentence_transformers", or "openai" for a compatible HTTP endpoint."""
    embed_model: str = DEFAULT_EMBEDDING_MODEL
    """Name or folder of the embedding model."""
    embed_url: str = ""
    """Endpoint for `embed = "openai"`."""
    ann: str = "quantised"
    """"quantised" gives what "exact" gives, faster, where the extra is installed; "usearch" is approximate, for 100,000 facts."""
    llm: str = ""
    """A model such as "openai:gpt-5-mini", or "" to read and answer without one."""
    llm_url: str = ""
    """Endpoint of a compatible server for `llm`."""
    llm_timeout_s: int = 60
    """Seconds that `llm` may take for a reply, or for the next piece of one. Raise it for a large model on a small machine."""
    llm_tries: int = 4
    """How often `llm` is asked at most while its provider is in trouble; one that is late is not asked again."""
    token_budget: int = 200_000
    """Tokens a language model may cost in one run; nothing is sent beyond it."""
    answering: str = ANSWERING
    """How readily a question is answered by quotation: "careful", "balanced" or "eager" (docs/howto/answers.md)."""
    lock_wait_s: int = 0
    """How long to wait for a database that another process has open. Raise it where processes take turns."""
    timeout_s: float = SILENCE_S
    """How long a process that is asked may say nothing before it is given up; one that works says so every few seconds."""
    bus: str = ""
    """URL of the bus that members share, such as "redis://127.0.0.1:6379"; its credential is the secret "BUS_CREDENTIAL"."""
    credentials_key_in: str = "file"
    """Where the key of credentials is: "file", or "keyring" for that of the system. The secret "CREDENTIALS_KEY" goes first."""
    http_host: str = "127.0.0.1"
    """Where a worker listens for requests. "0.0.0.0" in a container; then the secret "WORKER_TOKEN" says who may ask."""
    http_requests_max: int = HTTP_REQUESTS_MAX
    """How many requests to its agents a worker has under way at most; what comes beyond them is refused at once. Questions take
    some milliseconds each, so the last of them waits for seconds; raise it where they wait for a language model instead."""
    console_hosts: str = ""
    """Names, with commas, by which a browser may ask for the pages of a worker that listens elsewhere than on loopback; "" for
    none, and no pages. On loopback there always are some."""

    def __post_init__(self) -> None:
        """Raises `InvalidInput` for what a program hands in and is no such setting; a home may be given as text."""
        refuse_other_than(Settings, self)
        if not isinstance(self.home, str | Path):
            raise InvalidInput(f"`home` of Settings is a path, not {shown_value(self.home)}")
        object.__setattr__(self, "home", Path(self.home))
        for name, least in _NUMBERS.items():
            Bounds(least, 10**_DIGITS_MAX, is_whole=False).refuse(name, getattr(self, name))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """As `HIVE_MIND_HOME`, `HIVE_MIND_STORE`, `HIVE_MIND_EMBED`, `HIVE_MIND_EMBED_MODEL`, … say; empty counts as unset.

        Raises `InvalidInput` for a malformed number.
        """
        variables = os.environ if environment is None else environment
        variable_names = {field.name: _PREFIX + field.name.upper() for field in fields(cls)}
        texts_by_field = {name: text for name, variable in variable_names.items() if (text := variables.get(variable, ""))}
        numbers = {
            name: _count(variable_names[name], texts_by_field[name], least)
            for name, least in _NUMBERS.items()
            if name in texts_by_field
        }
        home = {"home": Path(texts_by_field["home"])} if "home" in texts_by_field else {}
        return cls(**cast(Any, texts_by_field | numbers | home))

    @property
    def llm_retry(self) -> "RetrySettings":
        """How the language model is asked again."""
        # Loaded only for a model: it brings what runs event loops, and a question to a resident process needs none.
        from hive_mind.retry import RetrySettings

        return RetrySettings(attempts_max=self.llm_tries)


ANSWERING_GIVEN = _PREFIX + "ANSWERING"


def settings_given() -> dict[str, str]:
    """Variables of this environment that say something else than a default, without the home folder and without secrets."""
    names = (_PREFIX + field.name.upper() for field in fields(Settings) if field.name != "home")
    return {name: value for name in names if (value := os.environ.get(name))}


def without_effect(environment: Mapping[str, str] | None = None) -> list[str]:
    """Variables that are set here and change nothing, each with the reason as a clause."""
    variables = os.environ if environment is None else environment
    own_variables = {name: value for name, value in variables.items() if name.startswith(_PREFIX) and value}
    names = [_PREFIX + name for name in (*(field.name.upper() for field in fields(Settings)), *SECRETS, *_OTHERS)]
    warnings = [
        f"{name} is no setting: {did_you_mean(name, names, 'nothing reads it')}"
        for name in sorted(own_variables)
        if name not in names and not name.startswith(_CREDENTIAL)
    ]
    embed = own_variables.get("HIVE_MIND_EMBED", Settings().embed)
    for name, is_read, needs in (
        *((f"HIVE_MIND_{setting}", bool(own_variables.get("HIVE_MIND_LLM")), "HIVE_MIND_LLM") for setting in _OF_A_MODEL),
        *((f"HIVE_MIND_EMBED_{setting}", embed == "openai", "HIVE_MIND_EMBED=openai") for setting in ("URL", "KEY")),
        ("HIVE_MIND_EMBED_MODEL", embed != "none", "another HIVE_MIND_EMBED than none"),
    ):
        if name in own_variables and not is_read:
            warnings.append(f"{name} has no effect without {needs}")
    return warnings


SECRETS = (
    *("BUS_CREDENTIAL", "CREDENTIALS_KEY", "EMBED_KEY", "HOOK_SECRET", "LLM_KEY", "MCP_TOKEN", "SEARCHES_CREDENTIAL"),
    "WORKER_TOKEN",
)
_OF_A_MODEL = ("LLM_URL", "LLM_KEY", "LLM_TIMEOUT_S", "LLM_TRIES", "TOKEN_BUDGET")
# Names that a person allows, and credentials of containers.
_OTHERS, _CREDENTIAL = ("ENV_ALLOWED",), "HIVE_MIND_CREDENTIAL_"


def secret(name: str) -> str:
    """A secret such as "EMBED_KEY" or "LLM_KEY", from `HIVE_MIND_<name>`; "" where there is none."""
    return os.environ.get(_PREFIX + name, "")


def variable(name: str) -> str | None:
    """A variable that a person refers to by its name; None where it is not set."""
    return os.environ.get(name)


def environment_with(values: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that is started from here: all variables of this process, and these."""
    return {**os.environ, **values}


def environment_without_secrets() -> dict[str, str]:
    """That of a program which gets none of this process's secrets."""
    secret_names = {_PREFIX + name for name in SECRETS}
    return {name: value for name, value in os.environ.items() if name not in secret_names}


def replace_variables(values: Mapping[str, str]) -> None:
    """See these variables from here on, and no others."""
    os.environ.clear()
    os.environ.update(values)


@contextmanager
def variables_set(values: Mapping[str, str]) -> Iterator[None]:
    """Add these variables to the environment of programs started meanwhile."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        replace_variables(before)


def set_variables(values: Mapping[str, str]) -> None:
    """Let libraries of this process see these variables."""
    os.environ.update(values)


def _count(name: str, text: str, least: int) -> int:
    # Python refuses to read a number of thousands of digits.
    if not text.isdecimal() or len(text) > _DIGITS_MAX or int(text) < least:
        raise InvalidInput(f"{name} is a whole number of {least} or more and at most {_DIGITS_MAX} digits, not {text[:40]!r}")
    return int(text)


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
    # Most commands look for no record.
    from hive_mind.sqlite import is_half_replaced

    path = database_path(settings, agent)
    return path.exists() or is_half_replaced(path)


def kept_agents(settings: Settings) -> list[str]:
    """The agents of a home that have a record."""
    folder = settings.home / "agents"
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [name for name in names if is_kept(settings, name)]


def ledger_path(settings: Settings, agent: str) -> Path:
    """Where an agent's ledger is: runs, judgements, questions. Raises `InvalidInput` for a name that is no plain file name."""
    return database_path(settings, agent).with_name("ledger.sqlite")


def refuse_unwritable_name(path: Path, advice: str) -> None:
    """A disk takes any bytes for a name; Kuzu, and whatever keeps a path as text, takes UTF-8. Raises `InvalidInput`."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{path}: this name is no UTF-8: {advice}") from None
