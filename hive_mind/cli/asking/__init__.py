"""Commands by which an agent learns and is asked, also by programs."""
