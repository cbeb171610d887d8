"""A client's link, played by the test: it gives credit, and keeps what it was sent."""

from itertools import count

from hive_mind.devbroker.amqp.entity import DeliveryOutcome, split, value_message

ACCEPTED, RELEASED = DeliveryOutcome("accepted"), DeliveryOutcome("released")
ABANDONED = DeliveryOutcome("modified")
PUT_ASIDE = DeliveryOutcome("modified", is_undeliverable_here=True)


class PlayedLink:
    def __init__(self, *, receives=True, credit=0, is_presettled=False, filters=None, properties=None):
        self.is_sender, self.credit, self.is_presettled = receives, credit, is_presettled
        self.address, self.capabilities = "q", frozenset()
        self.filters, self.properties = filters or {}, properties or {}
        self.unsettled, self.is_closed, self.error = {}, False, None
        self.sent = []
        self._ids = count()
        self.entity = None

    def attach(self, entity):
        self.entity = entity
        entity.on_attach(self)
        entity.pump(self)
        return self

    @property
    def can_send(self):
        return self.credit > 0 and not self.is_closed

    def send(self, payload, tag, held=None, fmt=0):
        self.credit -= 1
        delivery = next(self._ids)
        if held is not None:
            self.unsettled[delivery] = held
        self.sent.append((split(payload), tag, fmt))
        return delivery

    def detach(self, error=None):
        self.is_closed, self.error = True, error
        self.entity.on_detach(self)

    # What the client does.

    def give(self, credit):
        self.credit += credit
        self.entity.pump(self)

    def close(self):
        self.is_closed = True
        self.entity.on_detach(self)

    def settle(self, outcome=ACCEPTED, delivery=None):
        delivery = next(iter(self.unsettled)) if delivery is None else delivery
        self.entity.settle(self, self.unsettled.pop(delivery), outcome)

    @property
    def texts(self):
        return [message.value() for message, _, _ in self.sent]


def message(text, **application):
    """An encoded message with a text as its body."""
    return value_message(text, application=application)


def request(operation, **body):
    """A request to `$management`; underscores in names stand for hyphens."""
    parameters = {name.replace("_", "-"): value for name, value in body.items()}
    return split(value_message(parameters, application={"operation": f"com.microsoft:{operation}"}))
