"""Whole clips: poses of many frames that are bettered together."""
