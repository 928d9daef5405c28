"""The controls of chains: what they go along with, by names."""

from .hierarchy import (
    Controls,
    Trunked,
    body_controls,
    controls_of,
    forget_body,
    hang_controls,
    is_control,
    lacks_spaces,
    trunk_of,
)
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
    "Controls",
    "Trunked",
    "body_controls",
    "check_space_name",
    "control_of",
    "controls_of",
    "find_space",
    "forget_body",
    "hang_controls",
    "is_control",
    "lacks_spaces",
    "lost_spaces",
    "movers",
    "space_name",
    "space_names",
    "space_properties",
    "trunk_of",
]
