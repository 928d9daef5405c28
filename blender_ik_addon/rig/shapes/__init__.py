"""Shapes of chains as arrays in world space, for the overlay and the gizmos."""
