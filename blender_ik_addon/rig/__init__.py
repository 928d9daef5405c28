"""Between Blender and arrays: reading, solving and writing poses, with explicit objects only."""
