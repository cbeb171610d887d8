"""Credentials, keys, and references to them."""
