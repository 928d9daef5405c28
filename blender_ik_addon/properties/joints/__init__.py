"""The own joints of chains; for what stands on records, their ends and those of selected bones."""

from .own import (
    RANGED_AXES,
    STIFF_AXES,
    JointSettings,
    joints_by_bone,
    own_joint,
    slides_of,
    take_over,
)

__all__ = [
    "RANGED_AXES",
    "STIFF_AXES",
    "JointSettings",
    "joints_by_bone",
    "own_joint",
    "slides_of",
    "take_over",
]
