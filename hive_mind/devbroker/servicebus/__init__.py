"""Queues, topics and subscriptions, with the semantics of Azure Service Bus."""
