"""Retrieval as files: a workspace of collections, configurations and golden questions, and what can be done with one."""
