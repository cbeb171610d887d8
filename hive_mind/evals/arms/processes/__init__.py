"""Arms of real processes over a real Redis server."""
