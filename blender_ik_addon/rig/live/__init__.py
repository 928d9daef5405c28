"""One update of one dependency graph."""
