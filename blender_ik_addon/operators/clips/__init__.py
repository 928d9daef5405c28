"""The operators for clips as a whole."""
