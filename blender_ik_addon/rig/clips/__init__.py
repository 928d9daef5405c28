"""Clips: many frames of a character at once."""
