"""`--processes N`: tests run in copies of the process that has collected them, because to load and collect all takes ten seconds.

The long files begin first, so that the last minute has short ones. A copy that is done takes half of what another has before it.
"""

import os
import random
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.servers import children

_AHEAD = 3
"""Tests that a copy is given before it asks: what the next one is decides which fixtures end, and nobody waits for a reply."""

_EMBEDDING = "embeddings"
_END = object()


class SharedOut:
    """A plugin of the process that collects: it lets copies run the tests, and reports what they say as its own."""

    def __init__(self, processes: int) -> None:
        self._processes = processes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or (session.testsfailed and not session.config.option.continue_on_collection_errors):
            return None
        files = files_in_order(session.items)
        copies: list[_Copy] = []
        try:
            for number in range(min(self._processes, len(files))):
                copies.append(_Copy(session, number, copies))
            while running := [copy for copy in copies if not copy.has_ended]:
                for copy in running:
                    copy.hand_out(files, running)
                for link in wait([copy.link for copy in running]):
                    next(copy for copy in running if copy.link is link).hear()
                if session.shouldfail or session.shouldstop:
                    raise session.Failed(session.shouldfail or session.shouldstop)
        finally:
            for copy in copies:
                copy.end()
        return True


class _Copy:
    """A process, and the places of the tests that are its own."""

    def __init__(self, session: pytest.Session, number: int, others: Sequence["_Copy"]) -> None:
        self._session, self._number, self._others = session, number, others
        self.left, self._given, self._latest, self.has_ended = list[int](), list[int](), 0, False
        self._begin()

    def _begin(self) -> None:
        self.link, theirs = Pipe()
        self._is_told_the_end = False
        self._pid = os.fork()
        if not self._pid:
            for link in (self.link, *(other.link for other in self._others if other is not self)):
                link.close()
            _be_copy(self._session, theirs, self._number)
        theirs.close()

    def hand_out(self, files: list[list[int]], running: Sequence["_Copy"]) -> None:
        while len(self._given) < _AHEAD and not self._is_told_the_end:
            if not self.left and files:
                self.left = files.pop(0)
            if not self.left:
                richest = max(running, key=lambda copy: len(copy.left))
                self.left, richest.left = (
                    richest.left[(len(richest.left) + 1) // 2 :],
                    richest.left[: (len(richest.left) + 1) // 2],
                )
            self._is_told_the_end = not self.left
            self._given += self.left[:1]
            self._tell(self.left.pop(0) if self.left else -1)

    def _tell(self, place: int) -> None:
        try:
            self.link.send(place)
        except BrokenPipeError:
            """It ended, which is heard."""

    def hear(self) -> None:
        hook, config = self._session.config.hook, self._session.config
        said: object = _END
        # Not where an error is handled: a copy that began there would have it in all of its own.
        with suppress(EOFError, ConnectionResetError):
            said = self.link.recv()
        if said is _END:
            self._note_end()
        elif said is None:
            self._latest = self._given.pop(0)
        else:
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=config, data=said))

    def _note_end(self) -> None:
        """Another takes the place of one that ended in the middle of a test, which failed."""
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self.link.close()
        self.has_ended = True
        if status or self._given:
            test = self._session.items[self._given.pop(0) if self._given else self._latest]
            why = f"the process of this test ended ({status}): what it said last is above"
            report = pytest.TestReport(test.nodeid, test.location, {}, "failed", why, "call")
            self._session.config.hook.pytest_runtest_logreport(report=report)
            self.left, self._given = self._given + self.left, []
            if self.left:
                self.has_ended = False
                self._begin()

    def end(self) -> None:
        """Of a session that ends before all have run."""
        if not self.has_ended:
            self.link.close()
            os.kill(self._pid, 9)
            os.waitpid(self._pid, 0)


def files_in_order(tests: Sequence[pytest.Item]) -> list[list[int]]:
    """Places of tests by file, first those of which most take seconds.

    One process loads the embedding model's libraries, which takes seconds, and not each that comes across a test of it.
    """
    places = sorted(range(len(tests)), key=lambda place: tests[place].get_closest_marker("embeddings") is None)
    files = [list(file) for _, file in groupby(places, lambda place: _file(tests[place]))]
    return sorted(files, key=lambda file: (_file(tests[file[0]]) != _EMBEDDING, -_long(tests[place] for place in file)))


def _file(test: pytest.Item) -> Path | str:
    return _EMBEDDING if test.get_closest_marker("embeddings") else test.path


def _long(tests: Iterable[pytest.Item]) -> int:
    """How many of them take seconds."""
    return sum(test.get_closest_marker("slow") is not None for test in tests)


class _Reporting:
    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config, self._link = config, link

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.say(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def say(self, something: dict[str, Any] | None) -> None:
        self._link.send(something)


def _be_copy(session: pytest.Session, link: Connection, number: int) -> None:
    """Never returns."""
    try:
        config, code = session.config, 1
        plugins = config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        children.begin_session()
        capture.start_global_capturing()
        random.seed()
        _be_silent(plugins)
        folders = session.config._tmp_path_factory  # type: ignore[attr-defined]
        folders._basetemp = folders.getbasetemp() / f"process-{number}"
        folders._basetemp.mkdir(mode=0o700, exist_ok=True)
        plugins.register(reporting := _Reporting(config, link))
        places = _places(link)
        place = next(places, None)
        while place is not None:
            following = next(places, None)
            test, after = session.items[place], None if following is None else session.items[following]
            config.hook.pytest_runtest_protocol(item=test, nextitem=after)
            reporting.say(None)
            place = following
        config._ensure_unconfigure()
        code = 0
    except (EOFError, BrokenPipeError):
        """Nobody is there any more."""
    except BaseException:  # noqa: BLE001 - the last word of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def _places(link: Connection) -> Iterator[int]:
    while (place := link.recv()) >= 0:
        yield place


def _be_silent(plugins: pytest.PytestPluginManager) -> None:
    terminal: Any = plugins.unregister(name="terminalreporter")
    terminal._tw._file = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    plugins.register(SimpleNamespace(_tw=terminal._tw), "terminalreporter")
