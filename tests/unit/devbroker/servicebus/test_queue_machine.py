"""Whatever is done to a queue in whatever order: nothing is lost, nothing is in two hands at once, attempts are counted right.

The model is a list of plain facts about each message, kept by the test; it is compared with the queue after every step.
"""

from dataclasses import dataclass, field
from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.servicebus import QueueSettings
from hive_mind.devbroker.servicebus.queue import Queue
from tests.unit.devbroker.letters import letter, text_of

LOCK_S, MESSAGES_MAX = 10.0, 12
INDEX = st.integers(0, 20)


@dataclass
class Known:
    text: str
    ttl_s: float
    expires_at: float
    place: str = "ready"  # ready, locked, dead, gone
    attempts: int = 0
    until: float = 0.0
    token: object = None
    old_tokens: list = field(default_factory=list)


class QueueMachine(RuleBasedStateMachine):
    @initialize(deliveries_max=st.integers(1, 3), buries_expired=st.booleans())
    def start(self, deliveries_max, buries_expired):
        self.deliveries_max, self.buries_expired, self.now = deliveries_max, buries_expired, 1_000.0
        self.queue = Queue(
            "q",
            QueueSettings(lock_s=LOCK_S, deliveries_max=deliveries_max, buries_expired=buries_expired, messages_max=MESSAGES_MAX),
        )
        self.known: list[Known] = []

    # The model.

    def in_place(self, place):
        return [known for known in self.known if known.place == place]

    def tick(self):
        for known in self.in_place("locked"):
            if known.until <= self.now:
                self.put_back(known, is_failed=True)
        for known in self.in_place("ready"):
            if known.expires_at <= self.now:
                known.place = "dead" if self.buries_expired else "gone"

    def put_back(self, known, *, is_failed):
        known.old_tokens.append(known.token)
        known.attempts += is_failed
        known.place = "dead" if known.attempts >= self.deliveries_max else "ready"

    def locked(self, index):
        mine = self.in_place("locked")
        return mine[index % len(mine)]

    def lock(self, kept, known):
        known.place, known.token, known.until = "locked", kept.token, self.now + LOCK_S
        assert kept.attempts == known.attempts

    def by_text(self, text):
        return next(known for known in self.known if known.text == text)

    # What may happen.

    @rule(seconds=st.sampled_from([0.5, 3.0, 9.5, 10.0, 25.0]))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(ttl_s=st.sampled_from([inf, inf, 4.0, 15.0]), many=st.integers(1, 3))
    def send(self, ttl_s, many):
        self.tick()
        texts = [f"m{len(self.known) + number}" for number in range(many)]
        letters = [letter(text, ttl_s=ttl_s) for text in texts]
        room = MESSAGES_MAX - sum(known.place != "gone" for known in self.known)
        if many > room:
            with pytest.raises(AmqpError, match="quota"):
                self.queue.send(letters, self.now)
            return
        self.queue.send(letters, self.now)
        self.known += [Known(text, ttl_s, self.now + ttl_s) for text in texts]
        self.tick()

    @rule(for_good=st.sampled_from([False, False, True]))
    def take(self, for_good):
        self.tick()
        first = next((text for text in map(text_of, self.queue.peek(1, self.now)) if self.by_text(text).place == "ready"), "")
        kept = self.queue.take(self.now, for_good=for_good)

        assert text_of(kept) == first
        if kept is None:
            assert not self.in_place("ready")
        elif for_good:
            self.by_text(first).place = "gone"
        else:
            self.lock(kept, self.by_text(first))

    @precondition(lambda self: self.in_place("locked"))
    @rule(index=INDEX, how=st.sampled_from(["complete", "abandon", "release", "bury"]))
    def settle(self, index, how):
        known = self.locked(index)
        settle = {
            "complete": lambda: self.queue.complete(known.token, self.now),
            "abandon": lambda: self.queue.abandon(known.token, self.now),
            "release": lambda: self.queue.abandon(known.token, self.now, is_failed=False),
            "bury": lambda: self.queue.bury(known.token, self.now, "why", ""),
        }[how]
        self.tick()
        if known.place != "locked":
            with pytest.raises(AmqpError, match="message-lock-lost"):
                settle()
            return
        settle()
        if how == "complete":
            known.place = "gone"
        elif how == "bury":
            known.place = "dead"
        else:
            self.put_back(known, is_failed=how != "release")
        self.tick()

    @precondition(lambda self: self.in_place("locked"))
    @rule(index=INDEX)
    def renew(self, index):
        known = self.locked(index)
        self.tick()
        if known.place == "locked":
            assert self.queue.renew([known.token], self.now) == [self.now + LOCK_S]
            known.until = self.now + LOCK_S
        else:
            with pytest.raises(AmqpError, match="message-lock-lost"):
                self.queue.renew([known.token], self.now)

    @rule(index=INDEX)
    def settle_with_an_old_token(self, index):
        old = [token for known in self.known for token in known.old_tokens]
        if old:
            self.tick()
            with pytest.raises(AmqpError, match="message-lock-lost"):
                self.queue.complete(old[index % len(old)], self.now)

    @rule()
    def read_the_dead(self):
        self.tick()
        self.queue.advance(self.now)
        while (kept := self.queue.dead_letters.take(self.now, for_good=True)) is not None:
            known = self.by_text(text_of(kept))
            assert (known.place, known.attempts) == ("dead", kept.attempts)
            known.place = "gone"
        assert not self.in_place("dead")

    # What always holds.

    @invariant()
    def every_message_is_where_the_model_says_and_nowhere_else(self):
        if not hasattr(self, "queue"):
            return
        self.tick()
        here = sorted(text_of(kept) for kept in self.queue.peek(1, self.now))
        dead = sorted(text_of(kept) for kept in self.queue.dead_letters.peek(1, self.now))
        assert here == sorted(known.text for known in self.known if known.place not in ("dead", "gone"))
        assert dead == sorted(known.text for known in self.in_place("dead"))
        assert self.queue.counts() == {place: len(self.in_place(place)) for place in ("ready", "locked")}
        assert self.queue.quota.messages == self.queue.quota.bytes == len(here) + len(dead)

    @invariant()
    def it_wakes_when_the_next_thing_is_due(self):
        if not hasattr(self, "queue"):
            return
        dues = [known.until for known in self.in_place("locked")] + [known.expires_at for known in self.in_place("ready")]
        due = self.queue.next_due()
        assert (inf if due is None else due) <= min(dues, default=inf)


QueueMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=50, deadline=None)


class TestQueueMachine(QueueMachine.TestCase):
    pass
