"""What controls look like, and what they go along with."""
