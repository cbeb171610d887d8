"""Jobs in processes of their own, a few at a time, that tell how far they are.

A process per job: memory left behind by one is no part of the next one's measurement, and one that is killed ends nothing
but its own job. Ctrl-C reaches the parent alone, which passes it on once; a child stops by itself when its parent dies.
"""

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from hive_mind.errors import HiveError
from hive_mind.runtime.settings import environment_with, replace_variables, variables_set

ReportProgress = Callable[[str, int, int], None]
Work = Callable[[Any, ReportProgress], Any]

# Closing on the way out (databases, processes of an arm) takes seconds, not minutes.
_STOPS_WITHIN_S = 30.0
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do under a name: a function that a new process can import, and what it is given.

    `loads`: modules that its process has loaded already, like those of all jobs, where processes are copies.
    """

    name: str
    work: Work
    given: Any
    loads: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is."""

    name: str
    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job's result, or `why` it has none. `trace` is for a defect of ours."""

    name: str
    result: Any = None
    why: str = ""
    trace: str = ""


@dataclass(slots=True)
class _Running:
    job: Job
    process: BaseProcess
    pipe: "Connection[Any, Any]"


def run_jobs(jobs: Sequence[Job], processes: int) -> Iterator[JobProgress | JobResult]:
    """Run them, in this order, and tell of them as they go on.

    When the caller stops listening, by Ctrl-C or an error, the running jobs are stopped.
    """
    waiting = list(reversed(jobs))
    running: dict[int, _Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                with _undisturbed():
                    process = _started(waiting.pop())
                    running[id(process)] = process
            pipes = {process.pipe: key for key, process in running.items()}
            for pipe in wait(list(pipes), _LOOK_S):
                key = pipes[pipe]  # type: ignore[index]
                news = _heard(running[key])
                if isinstance(news, JobResult):
                    del running[key]
                yield news
    finally:
        _stop(list(running.values()))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until a new process is known, so that it is stopped with the others.

    The process begins with it waiting too, until it can take it: while Python is loaded it would only leave a trace of that.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Where this is begun later, it lets signals through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context(job: Job) -> ForkServerContext | SpawnContext:
    """On Linux a process is a copy of one that does nothing but load what jobs need, once."""
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([job.work.__module__, *job.loads])
    return context


def _started(job: Job) -> _Running:
    context = _context(job)
    ours, theirs = context.Pipe(duplex=False)
    process: BaseProcess = context.Process(target=_child, args=(theirs, job, environment_with({})), name=job.name)
    # Its own path would begin with the current folder, where a file may be called like a module.
    with variables_set({"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}):
        process.start()
    # Ours stays the only end, so that the pipe ends with the child.
    theirs.close()
    return _Running(job, process, ours)


def _heard(process: _Running) -> JobProgress | JobResult:
    try:
        news: JobProgress | JobResult = process.pipe.recv()
    except (EOFError, OSError):
        process.process.join()
        code, why = process.process.exitcode, f"its process ended with exit code {process.process.exitcode} and without a word"
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            why = f"its process was ended by {name}" + ("; there may have been too little memory" if name == "SIGKILL" else "")
        news = JobResult(process.job.name, why=why)
    if isinstance(news, JobResult):
        process.process.join()
        process.pipe.close()
    return news


def _stop(running: Sequence[_Running]) -> None:
    """As Ctrl-C would: they close what they have open. One that takes too long is killed."""
    for process in running:
        if process.process.pid is not None and process.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(process.process.pid, signal.SIGINT)
    for process in running:
        # Nobody reads any more: a child that still tells something must not wait for a full pipe.
        process.pipe.close()
        process.process.join(_STOPS_WITHIN_S)
        if process.process.is_alive():
            process.process.kill()
            process.process.join()


def _child(pipe: "Connection[Any, Any]", job: Job, environment: Mapping[str, str]) -> None:
    """Body of a new process. It is its own group, so that Ctrl-C at the terminal comes by way of its parent, once."""
    replace_variables(environment)
    # No collection of garbage looks again at what the process was copied with.
    gc.freeze()
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    threading.Thread(target=_stop_with_parent, daemon=True).start()

    def progress(what: str, done: int, total: int) -> None:
        pipe.send(JobProgress(job.name, what, done, total))

    try:
        # Also where the parent ignores Ctrl-C, as a shell does for background jobs.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        ended = JobResult(job.name, job.work(job.given, progress))
    except HiveError as error:
        ended = JobResult(job.name, why=str(error))
    except KeyboardInterrupt:
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent writes down that this job has failed of it
        ended = JobResult(job.name, why=f"a defect: {type(error).__name__}: {error}", trace=traceback.format_exc())
    with suppress(BrokenPipeError):
        pipe.send(ended)


def _stop_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)
