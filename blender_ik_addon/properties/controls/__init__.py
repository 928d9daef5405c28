"""The controls of chains: what they go along with, by names."""

from .space_names import (
    check_space_name,
    control_of,
    find_space,
    lost_spaces,
    movers,
    space_name,
    space_names,
    space_properties,
)

__all__ = [
    "check_space_name",
    "control_of",
    "find_space",
    "lost_spaces",
    "movers",
    "space_name",
    "space_names",
    "space_properties",
]
