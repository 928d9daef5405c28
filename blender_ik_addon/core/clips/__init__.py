"""Whole clips: poses of many frames that are improved together."""
