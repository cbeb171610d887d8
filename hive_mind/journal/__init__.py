"""A hive node's permanent records: a flat map of named tables, durable write by write. One file or folder per back end."""
