"""Measurements of whole bodies whose goals are held or give way."""
