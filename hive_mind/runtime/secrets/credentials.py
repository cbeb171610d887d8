"""The credentials of a home: which file they are in, and where its key comes from."""

from pathlib import Path
from typing import cast

from hive_mind import backends
from hive_mind.credentials.base import CredentialStore
from hive_mind.credentials.key import FileKey, GivenKey, KeyPlace, KeyringKey
from hive_mind.errors import InvalidInput
from hive_mind.runtime.files import write_whole
from hive_mind.runtime.settings import Settings, secret

_FOLDER = "credentials"


def credentials_of(home: Path | None = None) -> CredentialStore:
    """Those of a home, else of the settings'. Touches no file. Raises `BackendNotInstalled` without the extra, `InvalidInput`."""
    settings = Settings.from_environment()
    folder = (home or settings.home).absolute() / _FOLDER
    given = secret("CREDENTIALS_KEY")
    key = GivenKey(given) if given else _kept_key(settings.credentials_key_in, folder)
    return cast(CredentialStore, backends.load("credentials", "fernet").open(folder / "credentials.json", key, write_whole))


def _kept_key(place: str, folder: Path) -> KeyPlace:
    match place:
        case "file":
            return FileKey(folder / "key", write_whole)
        case "keyring":
            return KeyringKey(str(folder.parent))
        case _:
            raise InvalidInput(f"HIVE_MIND_CREDENTIALS_KEY_IN is file or keyring, not {place[:40]!r}")
