"""The controls of chains: their spaces by name, and the hierarchy of a body."""
