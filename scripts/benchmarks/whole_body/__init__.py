"""Figures of whole bodies: goals that are held or give way."""
