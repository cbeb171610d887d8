"""Certificates for the processes of a fleet, issued where they are started; the root is made with the first of them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hive_mind.control.platforms.in_containers import NO_KEYS, Keys
from hive_mind.errors import ConfigError
from hive_mind.hive.policy.seal import UNSEALED, Seal
from hive_mind.identity.seals import KeySeal
from hive_mind.runtime.secrets.keys import KeyFolder
from hive_mind.runtime.workers.config import WorkerConfig

# Renewed while there is time to notice that it can't be.
_DAYS_LEFT = 30


def issue_for(config: WorkerConfig, keys: KeyFolder | None = None) -> None:
    """Issue the keys with which it proves its identity, where it has to; into `keys` where its own folder is in a container.

    Raises `ConfigError` where the root's key is not here.
    """
    if config.identity.mode == "off":
        return
    keys = keys or KeyFolder(Path(config.identity.folder), config.fleet)
    if not keys.is_founded:
        keys.found()
    also = sorted({node.name for node in config.nodes} | {agent.name for agent in config.agents})
    if not keys.is_issued(config.process, also, days_left=_DAYS_LEFT):
        keys.issue(config.process, also)
    if config.identity.encryption:
        if not getattr(keys.certificate(config.process), "box", b""):
            # Of an earlier version.
            keys.issue(config.process, also)
        keys.advance()
        keys.admit(config.process)


def issued_for(configs: Mapping[str, WorkerConfig], keys: KeyFolder, *, is_given: bool) -> Keys:
    """The keys with which processes in containers prove their identity; `is_given`: a person issues, and brings each its key.

    Raises `ConfigError` where the root's key, or all of it, is not here.
    """
    proving = {name: config for name, config in configs.items() if config.identity.mode != "off"}
    if not proving:
        return NO_KEYS
    for config in proving.values():
        if not is_given:
            issue_for(config, keys)
        elif config.identity.encryption:
            keys.advance()
            keys.admit(config.process)
    ids = {name: keys.key_of(name)[0] for name in proving} if not is_given else {}
    return Keys(keys.published(), ids)


def shut_out(member: str, keys: KeyFolder, report: Callable[[str], None]) -> None:
    """Encrypt for all but the process of a member that was put out, where anything is encrypted."""
    try:
        keys.advance(member)
    except ConfigError as error:
        report(f"{member} still reads what is sent: {error}; then hive-mind keys revoke {member}")


def renew(processes: Iterable[WorkerConfig], report: Callable[[str], None]) -> None:
    """Issue again what ends soon, for processes that run on as they are: they look into the folder by themselves."""
    for config in processes:
        keys = KeyFolder(Path(config.identity.folder), config.fleet)
        try:
            if config.identity.mode != "off" and keys.certificate(config.process) is not None:
                issue_for(config)
        except ConfigError as error:
            report(f"{config.process} can't be issued another certificate: {error}")


def movers_seal(config: WorkerConfig) -> Seal:
    """The seal of the mover of facts to the hive of this process, under the names of all their authors."""
    if not config.hive.is_sealed:
        return UNSEALED
    keys = KeyFolder(Path(config.identity.folder), config.fleet)
    if not keys.is_founded:
        keys.found()
    return KeySeal(keys.mover(), config.hive.id, is_required=True)
