"""Where an embedding model's files are on this machine: told without loading it and without a network."""

from importlib import import_module
from pathlib import Path
from typing import Any

_NEEDED = ("modules.json", "config.json")
_HUB_OWNER = "sentence-transformers"


def where_model_is(model: str) -> str:
    """The folder that holds a model's files, or "" when they are not here."""
    try:
        folder = Path(model).expanduser()
        if folder.is_dir():
            return str(folder) if all((folder / name).exists() for name in _NEEDED) else ""
    except (OSError, RuntimeError):
        # Longer than a path can be, or the home of nobody.
        return ""
    try:
        hub: Any = import_module("huggingface_hub")
    except ModuleNotFoundError:
        return ""
    return _cached(hub, model if "/" in model else f"{_HUB_OWNER}/{model}")


def _cached(hub: Any, name: str) -> str:
    try:
        found = [hub.try_to_load_from_cache(name, file) for file in _NEEDED]
    except ValueError:
        # No name the hub could have, such as a path to a folder that is not there.
        return ""
    return str(Path(found[0]).parent) if all(isinstance(path, str) for path in found) else ""
