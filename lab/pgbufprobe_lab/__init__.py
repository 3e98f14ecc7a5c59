"""The laboratory of pgbufprobe repeats published experiments with one command."""
