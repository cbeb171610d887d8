"""A language model that judges facts in a storm: of green cheese it wants nothing to be shared, and now and then it fails."""

import json
import random

from tests.servers.openai_compatible import Behaviour, Cut, OpenAICompatibleServer, RawBody, Received, Refusal, Reply

_FAILS = 0.1
_FAILURES: tuple[Behaviour, ...] = (
    Refusal(500),
    Refusal(429, retry_after_s="1"),
    RawBody(b"no JSON"),
    Reply("I would rather not say."),
    Cut(),
    Cut(sent=10),
)


class GateModel(OpenAICompatibleServer):
    """Over HTTP, on the loopback interface."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    def next_behaviour(self, received: Received) -> Behaviour:
        """Record a request and judge what it shows."""
        super().next_behaviour(received)
        if self._chance.random() < _FAILS:
            return self._chance.choice(_FAILURES)
        text = "\n".join(message["content"] for message in received.body["messages"] if message["role"] == "user")
        shown = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return Reply(json.dumps({"verdicts": [_verdict(one) for one in shown]}))


def _verdict(shown: dict[str, str]) -> dict[str, object]:
    action, why = ("keep", "quays are of stone") if "cheese" in shown["text"] else ("share", "plausible")
    return {"number": shown["number"], "action": action, "confidence": 0.9, "reasoning": why}
