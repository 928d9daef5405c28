"""Recorded clips, planted and baked as a whole: what is measured of them, and drawn."""
