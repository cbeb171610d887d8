"""Identities in a fleet: keys, certificates that its root signs, and members' signatures."""
