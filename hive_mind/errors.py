"""Every error this package raises on purpose.

    HiveError
    ├─ ConfigError                 the person must fix it; never retried
    │   ├─ UnknownBackend          .known: the names that exist
    │   ├─ BackendNotInstalled     .extra: what to install
    │   ├─ InvalidInput            a value, line or file that can't be taken as it is
    │   │   └─ ConditionError      a condition with a syntax error, or one that fails on its data
    │   └─ FileError               .problems: all that is wrong with it, each with line and path
    │       ├─ ManifestError       a fleet's
    │       ├─ WorkspaceError      a retrieval workspace's
    │       ├─ GoalError           a goal's
    │       ├─ RuleError           with rules
    │       ├─ WorkerFileError     a worker's
    │       └─ ExperimentError     an experiment's
    ├─ BackendError                the world failed; .backend names it, the cause is kept
    │   ├─ BackendUnavailable      .retryable
    │   │   ├─ DatabaseLocked      .holder_pid: another process has the database open
    │   │   └─ BackendUnreachable  there was no connection: nothing was sent
    │   ├─ BackendTimeout          .retryable
    │   ├─ BackendThrottled        .retryable, .retry_after_s
    │   │   └─ BackendBusy         as much is under way as it takes: nothing was begun
    │   └─ BackendRejected         not retryable: credentials, quota, a damaged or foreign file
    │       ├─ DatabaseUnreadable  .path: damaged, foreign, or written by a newer version
    │       ├─ CredentialUnreadable a wrong key, or a damaged file; nothing was changed
    │       └─ MessageTooLarge     .size_bytes, .bytes_max: nothing was sent
    ├─ WireError                   bytes that are not a message of ours: log, count, dead-letter
    └─ ModelOutputError            a language model's reply did not fit what was asked
        └─ BudgetExceeded          the token budget is spent; nothing more is sent

A message says what happened and what to do next. Expected outcomes are values, not exceptions.
"""

from collections.abc import Iterable
from dataclasses import dataclass


class HiveError(Exception):
    """Base of all errors raised on purpose by hive-mind."""


class ConfigError(HiveError):
    """Something a person has to change: a setting, a name, a missing extra."""


class UnknownBackend(ConfigError):
    """A name was given that no back end of this kind has."""

    def __init__(self, kind: str, name: str, names: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(sorted(names))
        super().__init__(f"there is no {kind} back end {name!r}; known: {', '.join(self.known)}")


class BackendNotInstalled(ConfigError):
    """The back end exists, but the packages it needs are not installed."""

    def __init__(self, kind: str, name: str, extra: str) -> None:
        self.kind, self.name, self.extra = kind, name, extra
        # Here and not on top: finding out how this installation was made takes longer than most commands need.
        from hive_mind.installation import command_for_extra

        super().__init__(f"{kind} {name!r} needs an extra: {command_for_extra(extra)}")


class InvalidInput(ConfigError):
    """A value, line or file that can't be taken as it is."""


class ConditionError(InvalidInput):
    """A condition that can't be parsed, or can't be evaluated on its data."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file. `line` is 1-based, 0 where it is not known; `path` is like "spec.agents[2].name"."""

    path: str
    line: int
    message: str
    """The fault and its remedy, as a clause."""

    def in_file(self, file: str) -> str:
        """As a compiler would: file, line, path and message; a file that is too large, for instance, is wrong in no line."""
        return f"{file}:{self.line}: {self.path}: {self.message}" if self.line else f"{file}: {self.path}: {self.message}"


class FileError(ConfigError):
    """A file of a person's that can't be used, with everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem], file: str = "file") -> None:
        self.problems, self.file = tuple(problems), file
        super().__init__("\n".join(problem.in_file(file) for problem in self.problems))


class ManifestError(FileError):
    """A manifest that can't be applied."""


class WorkspaceError(FileError):
    """A file of a retrieval workspace."""


class GoalError(FileError):
    """A file with a goal."""


class RuleError(FileError):
    """A file with rules."""


class WorkerFileError(FileError):
    """A file with a worker."""


class ExperimentError(FileError):
    """A file with an experiment."""


class BackendError(HiveError):
    """The world failed. `backend` names the part of it; the original error is the `__cause__`."""

    retryable = False

    def __init__(self, backend: str, message: str) -> None:
        self.backend = backend
        super().__init__(f"{backend}: {message}")


class BackendUnavailable(BackendError):
    """Not reachable now; the same call may succeed later."""

    retryable = True


class DatabaseLocked(BackendUnavailable):
    """Another process has this database open. `holder_pid` is its process id, where it could be found."""

    def __init__(self, backend: str, message: str, holder_pid: int | None = None) -> None:
        self.holder_pid = holder_pid
        super().__init__(backend, message)


class BackendUnreachable(BackendUnavailable):
    """There was no connection, so nothing was sent."""


class BackendTimeout(BackendError):
    """No reply inside the deadline."""

    retryable = True


class BackendThrottled(BackendError):
    """The other side asks us to slow down. `retry_after_s` is its wish, in seconds, where it gave one."""

    retryable = True

    def __init__(self, backend: str, message: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(backend, message)


class BackendBusy(BackendThrottled):
    """As much is under way as the other side takes, so nothing was begun."""


class BackendRejected(BackendError):
    """The other side refused and will refuse again: credentials, quota, a request it can't take."""


class DatabaseUnreadable(BackendRejected):
    """A database file that is damaged, foreign, or written by a newer version. Nothing was changed."""


class CredentialUnreadable(BackendRejected):
    """Credentials that the key does not open, or whose file is damaged. Nothing was changed."""

    def __init__(self, message: str) -> None:
        super().__init__("credentials", message)


class MessageTooLarge(BackendRejected):
    """Larger than the other side takes. Nothing was sent."""

    def __init__(self, backend: str, size_bytes: int, bytes_max: int) -> None:
        self.size_bytes, self.bytes_max = size_bytes, bytes_max
        super().__init__(backend, f"a message of {size_bytes} bytes is larger than the {bytes_max} it takes")


class WireError(HiveError):
    """Bytes that are no message of ours, or of a version this member does not know."""


class ModelOutputError(HiveError):
    """A language model's reply did not fit what was asked, also after asking again."""


class BudgetExceeded(ModelOutputError):
    """The token budget is spent. Facts learned so far are kept; nothing more is sent to the model."""


def reason_of(error: BaseException) -> str:
    """The reason alone, for a sentence that names the file: of an error of the system without its number and its path."""
    return str(getattr(error, "strerror", None) or error)


def sentence_of(error: BaseException) -> str:
    """The reason and the file that it is about, for a sentence that names none."""
    file = getattr(error, "filename", None)
    return f"{file}: {reason_of(error)}" if file else reason_of(error)
