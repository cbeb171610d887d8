"""Stores of credentials for tests, in a folder of their own."""

from pathlib import Path

from hive_mind import backends
from hive_mind.credentials import CredentialStore, FileKey, KeyPlace
from hive_mind.safe_files import write_whole


def file_of(folder: Path) -> Path:
    return folder / "credentials.json"


def store_in(folder: Path, key: KeyPlace | None = None, backend: str = "fernet") -> CredentialStore:
    """A new one over the same files each time, as another process would have it."""
    given = key or FileKey(folder / "key", write_whole)
    store: CredentialStore = backends.load("credentials", backend).open(file_of(folder), given, write_whole)
    return store


def revealed(store: CredentialStore) -> dict[str, str]:
    """All of it."""
    found = ((name, store.get(name)) for name in store.names())
    return {name: secret.reveal() for name, secret in found if secret is not None}
