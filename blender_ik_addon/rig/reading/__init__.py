"""Blender's data as arrays and frozen records."""
