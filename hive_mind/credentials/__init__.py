"""Secrets of people, encrypted on disk: written by a person, referred to by name, never shown."""
