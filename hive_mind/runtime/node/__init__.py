"""One node of a hive over its journal and a bus."""
