"""Commands by which an agent is asked, also by programs."""
