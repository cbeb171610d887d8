"""Pages in a browser: what a fleet knows and why, and what people decide about it. They ask a fleet by `/v1` alone."""

PREFIX = "/ui"
"""Where they are, at a worker."""
