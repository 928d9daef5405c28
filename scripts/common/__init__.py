"""Helpers of all scripts: printing, tables, processes with Blender as a module."""
