"""The figures of the documentation, drawn with Matplotlib from `core`."""
