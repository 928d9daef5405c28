"""Workers and tables without Blender."""
