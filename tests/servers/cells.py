"""The process that cells of an evaluation are copied from: it loads what any of them needs, once for a session of tests."""

from multiprocessing import forkserver

from hive_mind.evals.running.workers import Job, ReportProgress, run_jobs

_LOADED = ("hive_mind.evals.running.cell", "hive_mind.evals.running.harness", "hive_mind.llm.providers")


def begin_first() -> None:
    """It loads what its first job asks for, and nothing afterwards: one that has begun for another test makes room."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    list(run_jobs([Job("nothing", do_nothing, None, _LOADED)], 1))


def do_nothing(_: None, progress: ReportProgress) -> None:
    """What the first copy does."""
