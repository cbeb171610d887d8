"""Experiments that come along, one YAML file each; `hive-mind eval list` shows them."""
