"""Sessions that use a Blender with a window by mouse and keys, and take pictures of it."""
