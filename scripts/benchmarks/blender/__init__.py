"""Workers that run in Blender, and their scenes."""
