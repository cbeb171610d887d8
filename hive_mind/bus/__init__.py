"""Buses: they carry messages between the nodes of a hive and know nothing of facts or shards. One file per back end."""
