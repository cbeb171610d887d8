"""The credentials that tools of a run used: had by name, and taken out of whatever is kept afterwards."""

from collections.abc import Callable

from hive_mind.credentials.base import Secret
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import InvalidInput

NOTHING = Redaction(())


class UsedCredentials:
    """Of one run, in one process. `get` looks one up; None where it is not set. `known`: what its surroundings use."""

    def __init__(self, get: Callable[[str], Secret | None] = lambda _: None, known: Redaction = NOTHING) -> None:
        self._get, self._known = get, known
        self._used: dict[str, Secret] = {}
        self.hidden = known
        """Takes their values out of texts and plain data."""

    def take(self, name: str) -> Secret:
        """The credential of this name. Raises `InvalidInput` where there is none, and `BackendError`."""
        found = self._get(name)
        if found is None:
            raise InvalidInput(f"there is no credential {name!r}: hive-mind credentials set {name}")
        self._used[name] = found
        self.hidden = Redaction(self._used.values(), self._known)
        return found
