"""`hive-mind eval`: experiments, their runs and what differs between them; one command per file, put together in `app`."""
