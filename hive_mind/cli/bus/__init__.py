"""Commands about a bus and what goes over it, and the development broker."""
