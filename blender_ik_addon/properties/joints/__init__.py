"""The own joints of chains, and the ends of their ranges (``ends``, for what stands on records)."""

from .own import (
    RANGED_AXES,
    STIFF_AXES,
    JointSettings,
    has_joint,
    own_joint,
    slides_of,
    take_over,
)

__all__ = [
    "RANGED_AXES",
    "STIFF_AXES",
    "JointSettings",
    "has_joint",
    "own_joint",
    "slides_of",
    "take_over",
]
