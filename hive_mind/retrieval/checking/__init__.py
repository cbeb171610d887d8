"""Validation: what is wrong with the files of a workspace, and what a collection has."""
