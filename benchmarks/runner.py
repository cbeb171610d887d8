"""What the bus and the runners cost per message: a question to 50 nodes of one process that answer at once.

`python -m benchmarks.runner` prints a table; `--output json` the same as JSON. The nodes only pretend, so that everything
that is measured is overhead. CPU time, because nobody waits here for anything else.
"""

import asyncio
from collections.abc import Iterable, Iterator
from statistics import median
from time import process_time

from benchmarks.harness import Row, figure, parser_of, show
from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings
from hive_mind.hive.effects import Acknowledge, Done, Effect, Event, Fetch, Now, Put, Received, SearchLocal, Send
from hive_mind.model.messages import FactsReply, FactsRequest, SearchReply, SearchRequest
from hive_mind.runtime.node.runner import NodeRunner

NODES, QUESTIONS, ROUNDS = 50, 200, 7
LATER_MS = 1 << 40


class Echo:
    """Asks everybody and is content when all have replied; answers everybody with nothing."""

    def __init__(self, name: str, others: tuple[str, ...]) -> None:
        self.name, self._others = name, others
        self._open: dict[str, int] = {}

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]:
        del kept, now
        return []

    def handle(self, event: Event, now: Now) -> list[Effect]:
        del now
        match event:
            case Fetch(request):
                self._open[request] = len(self._others)
                return [Send((other,), FactsRequest(request, (), 1000)) for other in self._others]
            case Received(sender, FactsRequest() as request, delivery):
                return [SearchLocal(request, sender), Acknowledge(delivery)]
            case Received(_, FactsReply(query), delivery):
                self._open[query] -= 1
                done: list[Effect] = [] if self._open[query] else [Done(query, ())]
                return [*done, Acknowledge(delivery)]
        return []

    def search(self, request: SearchRequest, now: Now) -> SearchReply:
        del now
        assert isinstance(request, FactsRequest)
        return FactsReply(request.query, ())

    def index_some(self, now: Now) -> bool:
        del now
        return False

    def prepare(self, event: Event, now: Now) -> Iterator[None]:
        del event, now
        return iter(())

    def wake_at_ms(self, now: Now) -> int:
        del now
        return LATER_MS


async def measured() -> list[float]:
    """CPU milliseconds per question, round by round."""
    bus = await backends.load("bus", "memory").open(address_of("memory"), BusSettings())
    names = [f"n{number}" for number in range(NODES + 1)]
    runners = []
    for name in names:
        node = Echo(name, tuple(other for other in names if other != name))
        runners.append(NodeRunner(node, await backends.load("journal", "memory").open(), bus))
        await runners[-1].start()
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(QUESTIONS):
            await runners[0].fetch([])
        times.append((process_time() - start) / QUESTIONS * 1e3)
    for runner in runners:
        await runner.close()
    await bus.close()
    return times


def main() -> None:
    parser = parser_of(__doc__, "output")
    options = parser.parse_args()
    times = asyncio.run(measured())
    rows: list[Row] = [
        figure(f"a question to {NODES} nodes and their replies, CPU", median(times), "ms"),
        figure("per message, CPU, median of the rounds", median(times) / (2 * NODES) * 1e3, "µs"),
        figure("per message, CPU, best round", min(times) / (2 * NODES) * 1e3, "µs"),
    ]
    show(rows, options.output)


if __name__ == "__main__":
    main()
