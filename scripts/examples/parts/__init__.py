"""What the example files are built of."""
