"""The pictures of the demonstration."""
