"""One page about one server: gathers facts as plain data, and shows them, or compares those of two moments."""
