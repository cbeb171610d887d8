"""From a command to the world: runs its coroutine, and turns what goes wrong into one message and an exit code.

0 is fine, 1 failed, 2 used wrongly, 130 stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP), 141 the reader of our output went
away (as for any Unix tool). An error that is not ours keeps its traceback: it is a defect, and the place
matters.

Notices of the parts below ("keyword search only: …"), shown once each as a line on stderr.
"""

import asyncio
import errno
import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from hive_mind.cli.ending import Ending, ending_on_signals
from hive_mind.cli.output import say, spell_out_unknown_characters
from hive_mind.errors import ConfigError, HiveError

FAILED, USAGE, STOPPED, NO_READER = 1, 2, 130, 141

# The remedy for a disk that is full or was mounted to be read, and for a place that is not this user's: those are no defects.
_ADVICE = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EROFS), "make room there, and run it again") | {
    errno.EACCES: "name another place, or change its permissions"
}

_LOGGER = "hive_mind"


class CommandError(HiveError):
    """A command that can't do what it was asked to, though it was asked properly."""


class Stopped(Exception):
    """Ctrl-C, or a signal that is treated like it, with one line that says what was kept."""


Work = Callable[..., Coroutine[Any, Any, None] | None]


def command(work: Work) -> Callable[..., None]:
    """Make a function a command: the same parameters, and the coroutine that it may give is run to its end.

    A plain function that gives one can read standard input before the event loop starts. A parameter whose type is a dataclass
    stands for the options that its fields declare, and gets one made of what was given for them.
    """
    signature = inspect.signature(work, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation for name, parameter in signature.parameters.items() if is_dataclass(parameter.annotation)
    }

    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in fields(group)})
        spell_out_unknown_characters()
        with exit_codes() as ending, shown_notices():
            coroutine = work(*args, **options)
            if coroutine is not None:
                ending.run(coroutine)
            # Now and not while Python shuts down, where a broken pipe can't be caught any more.
            sys.stdout.flush()

    declared = [
        option
        for parameter in signature.parameters.values()
        for option in (_options_of(parameter) if parameter.name in groups else [parameter])
    ]
    run.__signature__ = signature.replace(parameters=declared)  # type: ignore[attr-defined]
    return run


def _options_of(group: inspect.Parameter) -> list[inspect.Parameter]:
    types = get_type_hints(group.annotation, include_extras=True)
    defaults = {field.name: field.default for field in fields(group.annotation)}
    return [inspect.Parameter(name, group.kind, default=default, annotation=types[name]) for name, default in defaults.items()]


@contextmanager
def exit_codes() -> Iterator[Ending]:
    """Errors raised on purpose, and signals that end a process, become a line on stderr and an exit code."""
    with ending_on_signals() as ending, _exit_codes(ending):
        yield ending


@contextmanager
def _exit_codes(ending: Ending) -> Iterator[None]:
    try:
        yield
    except HiveError as error:
        say(f"error: {error}", style="red")
        raise _exit(USAGE if isinstance(error, ConfigError) else FAILED) from None
    except (Stopped, KeyboardInterrupt, asyncio.CancelledError) as stop:
        say(str(stop) or "stopped; whatever was finished before is kept")
        raise _exit(ending.code) from None
    except BrokenPipeError:
        _write_to_nowhere()
        raise _exit(NO_READER) from None
    except OSError as error:
        if error.errno not in _ADVICE:
            raise
        say(f"error: {error.filename or 'writing'}: {error.strerror}; {_ADVICE[error.errno]}", style="red")
        raise _exit(FAILED) from None


def _exit(code: int) -> Exception:
    # A worker that runs well needs nothing of the command line.
    import typer

    return typer.Exit(code)


def _write_to_nowhere() -> None:
    """Drop the text still buffered, which has no reader; without this Python would complain about it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Shown(logging.Handler):
    """Says each different message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Say the message, unless it was said before."""
        message = record.getMessage()
        if message not in self._said:
            self._said.add(message)
            say(f"note: {message}", style="yellow")


@contextmanager
def shown_notices() -> Iterator[None]:
    """For as long as the block runs, what this package has to say goes to stderr and nowhere else."""
    logger, handler = logging.getLogger(_LOGGER), _Shown()
    propagated, logger.propagate = logger.propagate, False
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        logger.setLevel(level)
