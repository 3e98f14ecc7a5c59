"""The laboratory of pgbufprobe: published experiments, repeated by one command."""
