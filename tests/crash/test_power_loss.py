"""Power fails at any moment: nothing acknowledged is lost. And whoever forgets to sync is found out.

`make chaos-store` plays 10,000 histories of power failures, these are some dozens.
"""

import asyncio
from pathlib import Path

import pytest

from tests.chance import seed_of_this_run
from tests.crash.disk_trace import compiled, compiler
from tests.crash.lives import SHORT, live
from tests.crash.power_loss import Report, play
from tests.crash.workloads import WORKLOADS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not compiler(), reason="traces what a process writes by a small library: install a C compiler (apt-get install gcc)"
    ),
]

HISTORIES = 50
_ENOUGH_TO_BE_FOUND_OUT = 40


@pytest.fixture(scope="module", params=WORKLOADS)
def life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A kind of file, and the trace of one."""
    folder = tmp_path_factory.mktemp("traces")
    return request.param, live(compiled(folder), folder, request.param, seed_of_this_run(), SHORT)


def played(life: tuple[str, Path], histories: int, *forgotten: str) -> Report:
    kind, trace = life
    report = Report(kind, seed_of_this_run())
    asyncio.run(play(report, trace, histories, frozenset(forgotten)))
    return report


def test_power_may_fail_at_any_moment(life: tuple[str, Path]) -> None:
    report = played(life, HISTORIES)
    assert not report.violations, "\n".join([str(report), *report.violations])
    assert report.lossy > HISTORIES / 2


@pytest.mark.parametrize("forgotten", ["file", "folder"])
def test_a_sync_that_is_forgotten_is_noticed(life: tuple[str, Path], forgotten: str) -> None:
    report = played(life, _ENOUGH_TO_BE_FOUND_OUT, forgotten)
    assert report.violations, str(report)
