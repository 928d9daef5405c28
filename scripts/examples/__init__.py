"""Scenes of the example files, one module per file, and their shared parts."""
