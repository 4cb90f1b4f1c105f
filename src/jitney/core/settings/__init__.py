"""Options, environment variables, caches and events of the process."""
