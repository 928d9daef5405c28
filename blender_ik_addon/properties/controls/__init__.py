"""The controls of chains: what they go along with, by names."""

from .space_names import space_properties

__all__ = ["space_properties"]
