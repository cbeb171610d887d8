"""`hive-mind retrieval`: how to search, as files; one command per file, put together in `app`."""
