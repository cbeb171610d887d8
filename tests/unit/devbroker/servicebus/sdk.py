"""Senders and receivers of Microsoft's client for one test, closed together when it ends: each takes half a second to close."""

import time
from concurrent.futures import ThreadPoolExecutor

from azure.servicebus import ServiceBusClient, ServiceBusMessage

from tests.servers.azure_pace import hasten

PATIENCE_S = 60

hasten()


class Handlers:
    def __init__(self, connection_string):
        self._client = ServiceBusClient.from_connection_string(connection_string, retry_backoff_factor=0.05, retry_total=1)
        self._open = []

    def __getattr__(self, name):
        return getattr(self._client, name)

    def _kept(self, handler):
        self._open.append(handler)
        return handler

    def sender(self, queue):
        return self._kept(self._client.get_queue_sender(queue, keep_alive=0))

    def topic_sender(self, topic):
        return self._kept(self._client.get_topic_sender(topic, keep_alive=0))

    def receiver(self, queue, **how):
        return self._kept(self._client.get_queue_receiver(queue, **how))

    def subscription(self, topic, name, **how):
        return self._kept(self._client.get_subscription_receiver(topic, name, **how))

    def dead_letters(self, queue):
        return self.receiver(queue, sub_queue="deadletter")

    def send(self, queue, *texts, **properties):
        sender = self.sender(queue)
        sender.send_messages([ServiceBusMessage(text, **properties) for text in texts])
        return sender

    def close(self):
        if self._open:
            with ThreadPoolExecutor(len(self._open)) as pool:
                list(pool.map(lambda handler: handler.close(), self._open))
        self._client.close()


def receive(receiver, count=1):
    """That many messages, waiting for them. Opened first: the wait for a message would end the wait for the link."""
    receiver.__enter__()
    found, deadline = [], time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {len(found)} of {count} messages came"
        found += receiver.receive_messages(count - len(found), max_wait_time=1)
    return found


def one(receiver):
    return receive(receiver)[0]


def texts_of(messages):
    return [str(message) for message in messages]


def is_empty(receiver):
    """Whether nothing is ready. Opened first, as in `receive`."""
    receiver.__enter__()
    return receiver.receive_messages(1, max_wait_time=0.1) == []
