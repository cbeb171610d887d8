"""A worker in a container, whichever cloud runs it: where its folders are, what it reads from secrets, what it needs.

Configurations come from the same place as those of local processes. Here they are fitted to an image: folders and files of this
machine become those of the image, and every reference is listed, so that a platform can say where its value comes from.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind.control.manifests import MANIFEST
from hive_mind.control.manifests.reading import Source
from hive_mind.errors import HiveError, ManifestError, Problem
from hive_mind.forms import spelled
from hive_mind.forms.reading import tree_of
from hive_mind.model.decoding import converted
from hive_mind.regex import regex
from hive_mind.runtime.secrets import references_in
from hive_mind.runtime.workers.config import IdentityConfig, SourceConfig, WorkerConfig

HOME = "/var/lib/hive-mind"
RUN = "/run/hive-mind"
CONFIG_FOLDER = "/etc/hive-mind"
CONFIG_FILE = "worker.json"
FILES = "/etc/hive-mind-files"
"""Where files that a manifest refers to as `${file:…}` are mounted."""
PUBLIC_KEYS = "/etc/hive-mind-keys"
"""The root's public key, certificates and what was revoked: the same for all processes of a fleet."""
OWN_KEY_FOLDER, OWN_KEY_FILE = "/etc/hive-mind-key", "key"
"""Where a process has the key that no other has."""
SOURCES = "/sources"
"""Where an image has what agents are to learn; below it, paths are those relative to the manifest."""
PORT = 8080
USER = 10001
LISTEN = {"HIVE_MIND_HTTP_HOST": "0.0.0.0"}  # noqa: S104 - probes come from outside the container; calls need the token
TOKEN_VARIABLE, TOKEN = "HIVE_MIND_WORKER_TOKEN", "WORKER_TOKEN"
"""The variable that a worker reads its token from, and what that secret is called."""

# Where nobody said. Measured: a worker on Redis with one agent that knows nothing takes 138 MB; the rest is room for thousands of
# facts, and for a model of embeddings.
_PROCESS_MB, _AGENT_MB, _MODEL_MB = 192, 64, 1024
# `$${` is no reference, see `runtime.references`.
_ELSEWHERE = regex(r"\$\$\{|\$\{(file|credential):([^{}]*)\}")
# As `hive-mind keys list` shows it.
_KEY_ID_CHARS = 12
_SECRET_KEY = regex(r"[^-._a-zA-Z0-9]+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of a fleet. `public`: texts by file name; `ids`: what the key of each process is called, where it is issued here."""

    public: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


NO_KEYS = Keys()


@dataclass(frozen=True, slots=True)
class Contained:
    """One worker. `plain` are variables with their values, `secret` variables with the name of the secret that has theirs;
    `files` are names of mounted files and where they lie, relative to the manifest. `cpu` 0: nobody said.

    `key`: the secret with the key by which it proves who it is, "" where it proves nothing. Another key has another name, where
    it was made here: so what runs is started again with it.
    """

    name: str
    config: WorkerConfig
    plain: Mapping[str, str]
    secret: Mapping[str, str]
    files: Mapping[str, str]
    cpu: float
    memory_mb: int
    key: str = ""

    @property
    def key_file(self) -> str:
        return f"secrets/{self.key}.key"


def contained(
    source: Source, configs: Mapping[str, WorkerConfig], name_chars_max: int, keys: Keys = NO_KEYS
) -> tuple[Contained, ...]:
    """All workers of a fleet, by name. Raises `ManifestError` for what can't be in a container."""
    problems = []
    fleet = source.manifest.metadata.name
    troubles = []
    for process, config in sorted(configs.items()):
        name = fleet if process == fleet else f"{fleet}-{process}"
        try:
            worker = _contained(label(name, name_chars_max), config, source.folder)
            troubles.append(replace(worker, key=_key_name(worker, keys)))
        except _Unfit as error:
            problems.append(located(source, error.path, str(error)))
    if problems:
        raise ManifestError(problems, source.name)
    return tuple(troubles)


def secret_files(workers: Iterable[Contained], keys: Keys) -> dict[str, str]:
    return {worker.key_file: worker.config.process for worker in workers if worker.config.process in keys.ids}


def label(text: str, chars_max: int) -> str:
    """A name that DNS takes: itself where it can be, else its beginning and a hash."""
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9-]", "-", text.lower())).strip("-")
    if plain == text and len(text) <= chars_max and text[0].isalpha():
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    beginning = plain[: chars_max - len(digest) - 3].strip("-")
    return f"{'' if beginning[:1].isalpha() else 'x-'}{beginning}-{digest}".replace("--", "-")


def located(source: Source, path: tuple[str | int, ...], message: str) -> Problem:
    """A problem with its line, and its path as people write it."""
    tree, _ = tree_of(source.text, MANIFEST)
    return Problem(spelled(path, MANIFEST.name), tree.at(path)[0].line if tree else 0, message)


class _Unfit(HiveError):
    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


def _contained(name: str, config: WorkerConfig, folder: Path) -> Contained:
    files: dict[str, str] = {}
    moved = converted(_moved(msgspec.to_builtins(config), folder, files), WorkerConfig)
    fitted = msgspec.structs.replace(
        moved,
        home=HOME,
        run=RUN,
        agents=tuple(
            msgspec.structs.replace(agent, sources=_sources(agent.sources, folder), roots=(SOURCES,)) for agent in moved.agents
        ),
        models=replace(moved.models, embed_model=_model(moved.models.embed_model, folder)),
        seen=replace(moved.seen, port=PORT),
        identity=_identity(moved),
    )
    plain, secret = _variables(fitted)
    # Set where the container is run.
    fitted = msgspec.structs.replace(fitted, env={})
    memory_mb = _PROCESS_MB + sum(agent.memory_mb or _AGENT_MB for agent in config.agents)
    memory_mb += _MODEL_MB if config.models.embed == "sentence_transformers" else 0
    return Contained(
        name, fitted, plain, secret, dict(sorted(files.items())), sum(agent.cpu for agent in config.agents), memory_mb
    )


def _identity(config: WorkerConfig) -> IdentityConfig:
    if config.identity.mode == "off":
        return config.identity
    return msgspec.structs.replace(config.identity, folder=PUBLIC_KEYS, key=f"{OWN_KEY_FOLDER}/{OWN_KEY_FILE}")


def _key_name(worker: Contained, keys: Keys) -> str:
    if worker.config.identity.mode == "off":
        return ""
    id = keys.ids.get(worker.config.process, "")[:_KEY_ID_CHARS]
    return f"key-{worker.name}-{id}" if id else f"key-{worker.name}"


def _moved(value: T, folder: Path, files: dict[str, str]) -> T | Any:
    """The same with references to files and credentials as they are in the container; which files is noted in `files`."""
    if isinstance(value, str):
        return _ELSEWHERE.sub(lambda match: _there(match, folder, files), value)
    if isinstance(value, dict):
        return {key: _moved(inner, folder, files) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_moved(inner, folder, files) for inner in value]
    return value


def _there(match: re.Match[str], folder: Path, files: dict[str, str]) -> str:
    if match[1] is None:
        return match[0]
    if match[1] == "credential":
        # Those of this machine stay on it: a container gets its secrets where it is run. Two names never become one.
        return f"${{env:HIVE_MIND_CREDENTIAL_{match[2].replace('-', '_').upper()}}}"
    name = match[2]
    path = folder / name
    shown_path = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
    # Two folders may have files of one name.
    key = f"{hashlib.sha256(shown_path.encode()).hexdigest()[:8]}-{_SECRET_KEY.sub('-', path.name)}"
    files[key] = shown_path
    return f"${{file:{FILES}/{key}}}"


def _model(name: str, folder: Path) -> str:
    """A model that lies beside the manifest is in the image, like what is to be learned."""
    if not Path(name).is_absolute():
        return name
    if not Path(name).is_relative_to(folder):
        raise _Unfit(("spec", "embedding", "model"), f"{name} is not below the folder of the manifest; move it there")
    return _in_image(name, folder)


def _in_image(path: str, folder: Path) -> str:
    return f"{SOURCES}/{Path(path).relative_to(folder).as_posix()}"


def _sources(sources: tuple[SourceConfig, ...], folder: Path) -> tuple[SourceConfig, ...]:
    for listed in sources:
        if not Path(listed.path).is_relative_to(folder):
            trouble = (
                f"{listed.path} is not below the folder of the manifest, where an image takes its sources from; move it there"
            )
            raise _Unfit(("spec", "agents"), trouble)
    return tuple(msgspec.structs.replace(source, path=_in_image(source.path, folder)) for source in sources)


def _variables(config: WorkerConfig) -> tuple[dict[str, str], dict[str, str]]:
    secret = {name: name for name in _named(msgspec.to_builtins(msgspec.structs.replace(config, env={})))}
    plain = dict(LISTEN)
    for variable, text in sorted(config.env.items()):
        references = references_in(text)
        if len(references) == 1 and text == str(references[0]) and references[0].kind == "env":
            variable_name, among = references[0].name, secret
        elif references:
            raise _Unfit(("spec", "agents"), f"env.{variable} has to be a text or one ${{env:…}}: put all of it into the secret")
        else:
            variable_name, among = text.replace("$${", "${"), plain
        if variable in secret and (among is plain or secret[variable] != variable_name):
            raise _Unfit(
                ("spec", "agents"), f"env.{variable} is not what ${{env:{variable}}} means elsewhere; rename one of them"
            )
        among[variable] = variable_name
    return plain, dict(sorted({**secret, TOKEN_VARIABLE: TOKEN}.items()))


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (reference.name for reference in references_in(value) if reference.kind == "env")
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _named(inner)
