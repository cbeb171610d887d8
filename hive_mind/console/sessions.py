"""Sessions that may look at pages: browsers that followed a link which was good once. In memory, so they end with the process.

Only a program with the worker's token gets such a link. Comparisons take constant time.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

# Long enough to go from a terminal to a browser, also that of a phone.
LINK_S = 300.0
SESSION_S = 12 * 3600.0
# Beyond these the oldest goes.
LINKS_MAX, SESSIONS_MAX = 20, 100
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A browser. `csrf` is what its forms send along, which no other page knows."""

    cookie: str
    csrf: str
    until_s: float

    def knows(self, csrf: str) -> bool:
        """Whether a form is one of ours."""
        return hmac.compare_digest(csrf.encode("utf-8", "replace"), self.csrf.encode())


@dataclass(slots=True)
class Sessions:
    """All browsers that were let in. `clock_s` only goes forward."""

    clock_s: Callable[[], float]
    _links: dict[str, float] = field(default_factory=dict)
    _sessions: dict[str, Session] = field(default_factory=dict)

    def link(self) -> str:
        """A code that lets one browser in, once."""
        code = secrets.token_urlsafe(_BYTES)
        self._links[code] = self.clock_s() + LINK_S
        _keep_newest(self._links, LINKS_MAX)
        return code

    def enter(self, code: str) -> Session | None:
        """The session that a code begins; None for one that was used, is too old or never was."""
        link_kept = next((link for link in self._links if _same(link, code)), "")
        if self.clock_s() >= self._links.pop(link_kept, 0.0):
            return None
        session = Session(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES), self.clock_s() + SESSION_S)
        self._sessions[session.cookie] = session
        _keep_newest(self._sessions, SESSIONS_MAX)
        return session

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; None where it has none any more."""
        session = next((session_kept for token, session_kept in self._sessions.items() if _same(token, cookie)), None)
        if session is not None and self.clock_s() >= session.until_s:
            del self._sessions[session.cookie]
            return None
        return session


def _same(expected: str, presented: str) -> bool:
    return hmac.compare_digest(expected.encode(), presented.encode("utf-8", "replace"))


def _keep_newest(entries_by_key: dict[str, float] | dict[str, Session], most: int) -> None:
    while len(entries_by_key) > most:
        del entries_by_key[next(iter(entries_by_key))]
