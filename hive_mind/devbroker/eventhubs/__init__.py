"""Hubs with partitions, and their readers, with the semantics of Azure Event Hubs."""
