"""Workers and tables that need no Blender."""
