"""Append-only streams, durable entry by entry: runs, judgements and questions to people stand on them. One file per back end."""
