"""How long a test may take, and with which signals it begins: no test waits for ever, wherever it was started.

One rule for all tests, with an event loop or without: Python's fault handler ends the process of a test over its limit and
says where each thread stood; pytest-xdist then starts another process for the tests that are left.
"""

import signal

import pytest

# On a busy machine: no test of `make check` takes a tenth of it on one that has nothing else to do.
LIMIT_S = 120.0
# Of tests with these markers.
_LONGER_S = {"slow": 300.0, "embeddings": 300.0, "thorough": 4 * 3600.0}


def limit_s(test: pytest.Item) -> float:
    """Seconds: those of its marker `timeout`, or the most that another marker of it allows."""
    if (marker := test.get_closest_marker("timeout")) is not None:
        return float(marker.args[0])
    return max((_LONGER_S[name] for name in _LONGER_S if test.get_closest_marker(name)), default=LIMIT_S)


def signals_at_their_defaults() -> None:
    """What is ignored or held back where tests are started (by `nohup`, `trap '' INT`, a job in the background) is not in tests.

    Their children begin with the defaults. A terminal that closes still does not end tests that `nohup` started.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - _OF_PYTHON:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _HANDLERS.get(number, signal.SIG_DFL))


def _nothing(*_: object) -> None:
    pass


# Python ignores these itself; its children do not.
_OF_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}
# A handler, unlike what is ignored, is not inherited.
_HANDLERS = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: _nothing}
