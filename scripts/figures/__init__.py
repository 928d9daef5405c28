"""Figures of the documentation, drawn with Matplotlib from results of `core`."""
