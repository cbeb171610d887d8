"""Workers that begin as copies: while somebody wants them to, and no longer."""

from contextlib import ExitStack

from hive_mind.control.platforms import local
from tests.servers.forked import begin, workers_as_copies


def test_blocks_that_overlap_leave_what_was_there_before_the_first() -> None:
    before = local.begin
    first, second = ExitStack(), ExitStack()
    first.enter_context(workers_as_copies())
    second.enter_context(workers_as_copies())
    first.close()
    assert local.begin is begin
    second.close()
    assert local.begin is before
