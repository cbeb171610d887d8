"""AMQP 1.0 itself: types and frames, connections, sessions and links. Knows nothing of hubs or queues."""
