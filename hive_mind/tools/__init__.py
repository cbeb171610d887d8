"""The tools that the workers of agents may call: functions with a schema, a name and what is to be known before they run."""
