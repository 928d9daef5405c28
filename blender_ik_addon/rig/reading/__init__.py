"""What stands in Blender, as arrays and frozen records."""
