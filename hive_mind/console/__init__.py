"""Pages in a browser: what a fleet knows and why, and what people decide about it. They ask a fleet by `/v1` alone."""

PREFIX = "/ui"
"""Where they are, at a worker."""
LINK_S = 300.0
"""For how long a link is good: enough to go from a terminal to a browser, also that of a phone."""
