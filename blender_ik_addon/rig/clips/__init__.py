"""Whole clips: the frames of a range are read, improved together and keyed."""
