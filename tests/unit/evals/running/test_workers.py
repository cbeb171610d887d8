"""Jobs in processes of their own: what one does, says or dies of is its own."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.running.workers import Job, JobProgress, JobResult, ReportProgress, run_jobs


def doubled(given: int, report: ReportProgress) -> int:
    report("doubling", 1, 1)
    return 2 * given


def refusing(given: str, _: ReportProgress) -> None:
    raise InvalidInput(given)


def broken(given: int, _: ReportProgress) -> float:
    return 1 / given


def killed(given: int, _: ReportProgress) -> None:
    os.kill(os.getpid(), given)


def endless(_: None, report: ReportProgress) -> None:
    report(str(os.getpid()), 0, 0)
    signal.pause()


def ended(*jobs: Job) -> dict[str, JobResult]:
    return {news.name: news for news in run_jobs(jobs, 2) if isinstance(news, JobResult)}


def test_a_job_gives_its_result_and_tells_how_far_it_is():
    assert list(run_jobs([Job("a", doubled, 4)], 2)) == [JobProgress("a", "doubling", 1, 1), JobResult("a", 8)]


@pytest.mark.slow
def test_what_one_job_dies_of_is_told_and_the_others_go_on():
    jobs = (
        Job("no", refusing, "give it more"),
        Job("bug", broken, 0),
        Job("gone", killed, signal.SIGKILL),
        Job("fine", doubled, 1),
    )

    found = ended(*jobs)

    assert found["fine"].result == 2
    assert (found["no"].why, found["no"].trace) == ("give it more", "")
    assert found["bug"].why == "a defect: ZeroDivisionError: division by zero"
    assert "return 1 / given" in found["bug"].trace
    assert found["gone"].why == "its process was ended by SIGKILL; there may have been too little memory"


def test_whoever_stops_listening_stops_the_jobs():
    listening = run_jobs([Job("a", endless, None)], 1)
    told = next(listening)
    assert isinstance(told, JobProgress)
    child = int(told.what)
    assert psutil.pid_exists(child)

    listening.close()

    assert not psutil.pid_exists(child)


def leaving_a_note(path: Path, report: ReportProgress) -> None:
    try:
        endless(None, report)
    finally:
        path.write_text("put away")


def test_a_job_can_put_away_what_it_has_also_where_interrupts_are_ignored(tmp_path: Path):
    # As a shell does for what it runs in the background.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        listening = run_jobs([Job("a", leaving_a_note, tmp_path / "note")], 1)
        assert next(listening)
        listening.close()
    finally:
        signal.signal(signal.SIGINT, before)

    assert (tmp_path / "note").read_text() == "put away"


def test_a_job_that_is_stopped_while_it_begins_leaves_no_trace(capfd: pytest.CaptureFixture[str]):
    listening = run_jobs([Job(str(number), endless, None) for number in range(4)], 4)
    # One has begun; others are still loading Python.
    assert next(listening)

    listening.close()

    assert capfd.readouterr().err == ""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def variables(*_: object) -> tuple[str | None, str | None]:
    return os.environ.get("HIVE_MIND_SEEN"), os.environ.get("HIVE_MIND_GONE")


def test_a_job_sees_the_variables_of_the_moment_it_is_begun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HIVE_MIND_GONE", "1")
    ended(Job("first", variables, None))
    monkeypatch.delenv("HIVE_MIND_GONE")
    monkeypatch.setenv("HIVE_MIND_SEEN", "2")

    assert ended(Job("second", variables, None))["second"].result == ("2", None)
