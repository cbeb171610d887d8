"""What a node of a hive must not forget: a flat map of named tables, durable write by write. One file or folder per back end."""
