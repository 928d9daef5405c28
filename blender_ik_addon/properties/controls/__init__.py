"""The controls of chains: what they go along with, by names."""
