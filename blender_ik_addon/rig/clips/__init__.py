"""Clips as a whole: all frames of a range are read, bettered together and keyed."""
