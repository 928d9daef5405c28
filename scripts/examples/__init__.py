"""The scenes of the example files: one file each, and what they share."""
