"""A worker: the nodes and agents of one configuration, as a process."""
