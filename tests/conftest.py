"""For all tests: what is drawn is the same in every run of one tree, and a busy machine is no defect."""

import asyncio
import faulthandler
import functools
import inspect
import os
from collections.abc import Coroutine, Generator

import pytest
from hypothesis import HealthCheck, settings

from hive_mind import ornament
from tests.chance import examples, is_exploring
from tests.heap import set_aside
from tests.limits import limit_s, signals_at_their_defaults
from tests.loops import play
from tests.order import dealt_out
from tests.servers import cells, children, forked

# Tests share the cores among processes. A calculation with threads of its own waits for the slowest of them at every step, which
# takes two to three times the CPU where the cores are busy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Speed is measured in benchmarks/, so no example has a deadline here.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=examples(),
    derandomize=not is_exploring(),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")

# A test that hangs in an event loop is cancelled and says where. Only where that is in vain its limit ends the process.
_PATIENCE_SHARE = 0.85
_STDERR = pytest.StashKey[int]()

signals_at_their_defaults()


@functools.wraps(ornament._left_out)
def _is_no_ornament(_: str, error: Exception) -> None:
    raise error


# An ornament that fails is left out, where it is used. Here it has found something.
ornament._left_out = _is_no_ornament


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Behind what leaves tests out."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = dealt_out(items, processes)


def pytest_collection_finish() -> None:
    """The tests themselves are thousands of objects, and stay."""
    set_aside()


def pytest_configure(config: pytest.Config) -> None:
    children.begin_session()
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[_STDERR] = os.dup(2)


def pytest_unconfigure() -> None:
    forked.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Its limit ends the process of a test, which says where each thread stands."""
    faulthandler.dump_traceback_later(limit_s(item), exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Of a test that fails no process goes on."""
    began = children.moment()
    try:
        return (yield)
    except pytest.skip.Exception:
        raise
    except BaseException:
        children.end_those_begun(began)
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An `async def test_…` has an event loop of its own, fails when it hangs, and leaves no task behind."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    # A loop of another kind may have a time of its own.
    kind, patience_s = pyfuncitem.funcargs.get("loop_of_its_own", (None, _PATIENCE_SHARE * limit_s(pyfuncitem)))
    with asyncio.Runner(loop_factory=kind) as runner:
        runner.run(_watched(play(pyfuncitem.obj, given), patience_s))
    return True


@pytest.fixture(scope="session")
def loaded_cells() -> None:
    """For tests of evaluations: to load what a cell needs takes longer than most of them."""
    cells.begin_first()


@pytest.fixture(scope="module")
def settled_heap() -> None:
    """For tests of what measures memory, and so collects garbage again and again."""
    set_aside()


async def _watched(test: Coroutine[None, None, None], patience_s: float) -> None:
    async with asyncio.timeout(patience_s):
        await test
    # What was cancelled, and a generator inside one that was closed, end in their next turns.
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
