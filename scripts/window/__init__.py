"""Scripts that press the buttons of a Blender with a window, and take its pictures."""
