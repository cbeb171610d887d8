"""How rounds are timed: CPU milliseconds where our own work counts, wall milliseconds where a disk or a broker is waited for."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterable
from statistics import median

import psutil


def cpu_ms(work: Callable[[int], object], numbers: Iterable[int]) -> float:
    """The median of a call, of the whole process. `work` gets each number."""
    return _median_ms(work, numbers, time.process_time_ns)


def wall_ms(work: Callable[[int], object], numbers: Iterable[int]) -> float:
    """The median of a call."""
    return _median_ms(work, numbers, time.perf_counter_ns)


def _median_ms(work: Callable[[int], object], numbers: Iterable[int], clock: Callable[[], int]) -> float:
    times = []
    for number in numbers:
        began = clock()
        work(number)
        times.append((clock() - began) / 1e6)
    return median(times)


def own_mb() -> float:
    """What this process alone holds in RAM, after giving back what is free."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return float(psutil.Process().memory_full_info().uss) / 1e6
