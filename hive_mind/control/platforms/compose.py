"""A fleet as a Compose file: all its processes on one machine, in containers, with a Redis of their own where none is named.

All share one network, that of the service `network`, so what goes over their own bus stays on its loopback: Redis without TLS is
refused anywhere else, for facts and passwords would be readable. Secrets are named here and never contained.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms.in_containers import (
    CONFIG_FILE,
    CONFIG_FOLDER,
    FILES,
    HOME,
    NO_KEYS,
    OWN_KEY_FILE,
    OWN_KEY_FOLDER,
    PUBLIC_KEYS,
    RUN,
    SOURCES,
    TOKEN_VARIABLE,
    USER,
    Contained,
    Keys,
    contained,
    label,
)
from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers.config import BusConfig, WorkerConfig

IMAGE = "hive-mind"
"""as deploy/README.md builds it"""
REDIS = "redis:7.4.6-bookworm"
PASSWORD = "redis_password"  # noqa: S105 - what the secret is called
OWN_BUS = BusConfig("redis://127.0.0.1:6379", credential=f"${{file:/run/secrets/{PASSWORD}}}")

_FILE = "compose.yaml"
NAME_CHARS_MAX = 63
# One network, so a port each.
_FIRST_PORT = 8081
_REDIS_USER = "999:999"
_OTHERS = ("network", "redis")
_ISSUED_IN = "where hive-mind keys issue wrote them"


def render(
    source: Source,
    configs: Mapping[str, WorkerConfig],
    before: Mapping[str, str] = MappingProxyType({}),
    keys: Keys = NO_KEYS,
) -> dict[str, str]:
    """Files by name; a process keeps the port it had. Raises `ManifestError` for what can't be in a container."""
    has_redis = not source.manifest.spec.bus.url and len(configs) > 1
    workers = [_fitted(worker, has_redis) for worker in contained(source, configs, NAME_CHARS_MAX, keys)]
    ports = _ports(workers, {name: config.seen.port for name, config in configs_in(before).items()})
    services: dict[str, Any] = {"network": _network(sorted(ports.values()))}
    if has_redis:
        services["redis"] = _redis()
    services |= {worker.name: _service(source, worker, ports[worker.config.process], has_redis) for worker in workers}
    files = {key: path for worker in workers for key, path in worker.files.items()}
    key_files = {worker.key: worker.key_file for worker in workers if worker.key}
    secrets = ({PASSWORD: {"file": f"secrets/{PASSWORD}"}} if has_redis else {}) | {
        key: {"file": file}
        for key, file in ({key: str(source.folder / path) for key, path in sorted(files.items())} | key_files).items()
    }
    objects = {
        "name": source.manifest.metadata.name,
        "services": services,
        "configs": {worker.name: {"file": f"{worker.name}.json"} for worker in workers},
        **({"secrets": secrets} if secrets else {}),
        "volumes": {name: {} for name in services if name != "network"},
    }
    text = _heading(source, workers, has_redis) + yaml.safe_dump(objects, sort_keys=False, allow_unicode=True, width=130)
    # The file that names the others is the last: where somebody is killed while they are written, it names none that is missing.
    return {f"{worker.name}.json": _config(worker, ports) for worker in workers} | {_FILE: text}


def configs_in(files: Mapping[str, str]) -> dict[str, WorkerConfig]:
    """The configurations in files of an earlier `render`, by process. Raises `InvalidInput` for any other files."""
    try:
        config_files = (yaml.safe_load(files.get(_FILE, "")) or {"configs": {}})["configs"]
        configs = [json_decoder(WorkerConfig)(files[config_file["file"]]) for config_file in config_files.values()]
    except (yaml.YAMLError, msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the folder has a {_FILE} that was not rendered here: take an empty folder") from error
    return {config.process: config for config in configs}


def _fitted(worker: Contained, has_redis: bool) -> Contained:
    """With the bus of the file, and without the fleet's name where nothing else is called so: Compose has it."""
    process = worker.config.process
    name = worker.name if process in _OTHERS else label(process, NAME_CHARS_MAX)
    config = msgspec.structs.replace(worker.config, bus=OWN_BUS) if has_redis else worker.config
    return replace(worker, name=name, config=config)


def _ports(workers: list[Contained], before: Mapping[str, int]) -> dict[str, int]:
    names = sorted(worker.config.process for worker in workers)
    ports = {name: before[name] for name in names if name in before}
    free = (port for port in range(_FIRST_PORT, 1 << 16) if port not in ports.values())
    return {name: ports[name] if name in ports else next(free) for name in names}


def _config(worker: Contained, ports: Mapping[str, int]) -> str:
    config = replace(worker.config.seen, port=ports[worker.config.process])
    return msgspec.structs.replace(worker.config, seen=config).packed().decode() + "\n"


def _confined(memory_mb: int, processes: int, user: str) -> dict[str, Any]:
    """The limits of a container: it writes only to its own disk, in so much memory."""
    return {
        "restart": "unless-stopped",
        "stop_grace_period": "30s",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "logging": {"driver": "json-file", "options": {"max-size": "5m", "max-file": "3"}},
        "mem_limit": f"{memory_mb}m",
        "pids_limit": processes,
        "user": user,
    }


def _network(ports: list[int]) -> dict[str, Any]:
    """Holds the network and does nothing that could end it.

    A container that shares the network of one that crashes and restarts stays in the old one, alone: so it is not Redis's.
    """
    return {
        "image": REDIS,
        "command": ["sleep", "infinity"],
        # Or sleep would be the first process and hear no signal.
        "init": True,
        # Those of the workers: a container that shares a network publishes no ports of its own.
        "ports": [f"127.0.0.1:{port}:{port}" for port in ports],
        # The image would make a volume there.
        "tmpfs": ["/data:size=1m"],
        **_confined(32, 10, _REDIS_USER),
    }


def _redis() -> dict[str, Any]:
    """The password is read from its file and stands in no list of processes.

    Its memory ends below half of the container's, which is what writing its log anew can take: full it says so and is waited for,
    killed it would come back only to be killed again.
    """
    secret = f"$$(cat /run/secrets/{PASSWORD})"
    begin = (
        f'umask 077 && echo "requirepass {secret}" > /run/redis/redis.conf && exec redis-server /run/redis/redis.conf'
        " --bind 127.0.0.1 --port 6379 --dir /data --appendonly yes --appendfsync everysec"
        " --maxmemory 240mb --maxmemory-policy noeviction"
    )
    asks = f'REDISCLI_AUTH="{secret}" redis-cli -h 127.0.0.1 ping | grep -q PONG'
    return {
        "image": REDIS,
        "network_mode": "service:network",
        "command": ["sh", "-c", begin],
        "healthcheck": {"test": ["CMD-SHELL", asks], "interval": "5s", "timeout": "3s", "retries": 12},
        "secrets": [PASSWORD],
        "volumes": ["redis:/data"],
        "tmpfs": ["/run/redis:size=1m,uid=999,gid=999,mode=0700"],
        **_confined(512, 100, _REDIS_USER),
    }


def _service(source: Source, worker: Contained, port: int, has_redis: bool) -> dict[str, Any]:
    ready = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/readyz', timeout=4)"
    learns = any(agent.sources for agent in worker.config.agents)
    token = {TOKEN_VARIABLE: f"${{{TOKEN_VARIABLE}:?see the head of {_FILE}}}"}
    secret = {name: f"${{{key}:?}}" for name, key in worker.secret.items() if name != TOKEN_VARIABLE}
    mounted = [{"source": key, "target": f"{FILES}/{key}"} for key in sorted(worker.files)]
    mounted += [{"source": worker.key, "target": f"{OWN_KEY_FOLDER}/{OWN_KEY_FILE}"}] if worker.key else []
    secrets = [*([PASSWORD] if has_redis else []), *mounted]
    folders = [f"{source.folder}:{SOURCES}:ro"] if learns else []
    # The folder and not its files, so that what is revoked is seen at once.
    folders += [f"./keys:{PUBLIC_KEYS}:ro"] if worker.key else []
    return {
        "image": source.manifest.spec.platform.image or IMAGE,
        "network_mode": "service:network",
        **({"depends_on": {"redis": {"condition": "service_healthy"}}} if has_redis else {}),
        "environment": {**{name: text.replace("$", "$$") for name, text in worker.plain.items()}, **token, **secret},
        "configs": [{"source": worker.name, "target": f"{CONFIG_FOLDER}/{CONFIG_FILE}"}],
        **({"secrets": secrets} if secrets else {}),
        "volumes": [f"{worker.name}:{HOME}", *folders],
        "tmpfs": ["/tmp:size=256m,mode=1777", f"{RUN}:size=16m,uid={USER},gid={USER},mode=0700"],  # noqa: S108 - a container's
        "healthcheck": {
            "test": ["CMD", "python", "-c", ready],
            "interval": "10s",
            "timeout": "5s",
            "retries": 6,
            "start_period": "300s",
        },
        **({"cpus": worker.cpu} if worker.cpu else {}),
        **_confined(worker.memory_mb, 200, f"{USER}:{USER}"),
    }


def _heading(source: Source, workers: list[Contained], has_redis: bool) -> str:
    keys = sorted({key for worker in workers for name, key in worker.secret.items() if name != TOKEN_VARIABLE})
    lines = [f"Fleet {source.manifest.metadata.name}. Before `docker compose up --wait`, in this folder:"]
    if not source.manifest.spec.platform.image:
        lines += [f"  docker build -f deploy/Dockerfile -t {IMAGE} PATH   # that of hive-mind's source"]
    lines += [f'  echo "{TOKEN_VARIABLE}=$(openssl rand -hex 24)" > .env']
    lines += [f'  echo "{key}=…" >> .env' for key in keys]
    keyed_workers = [worker for worker in workers if worker.key and source.manifest.spec.platform.keys == "given"]
    if has_redis or keyed_workers:
        lines += ["  mkdir -pm 700 secrets"]
    if has_redis:
        lines += [f"  openssl rand -hex 24 | tr -d '\\n' > secrets/{PASSWORD}"]
    lines += [
        f"  install -m 600 KEYS/{worker.config.process}.key {worker.key_file}   # KEYS: {_ISSUED_IN}" for worker in keyed_workers
    ]
    if any(worker.key for worker in workers):
        lines += [f"  sudo chown {USER} secrets/*.key   # that of a worker's user, and nobody else reads it"]
    return "".join(f"# {line}\n" for line in lines)
