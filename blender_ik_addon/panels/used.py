"""Which settings of a chain each solver uses; those of others are not shown."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..properties import ChainSettings

# What chains whose root stays use, beside what all chains do: bones, target, influence.
ROOTED = frozenset(
    (
        "use_rotation",
        "orient_weight",
        "rotation_bone",
        "pole_target",
        "pole_subtarget",
        "pole_angle",
        "use_flip_bend",
        "negative_scale",
        "use_limits",
        "joints",
        "soft_distance",
        "use_stretch",
        "use_keep_volume",
        "start_from",
    )
)
ITERATED = ROOTED | {"iterations", "tolerance"}
USES = {
    "TWO_BONE": ROOTED,
    "FABRIK": ITERATED | {"use_finish"},
    "CCD": ITERATED | {"use_finish"},
    "NEWTON": ITERATED,
    "FORCE": ITERATED | {"force"},
    "FOLLOW": frozenset(("follow_lead", "use_anchor", "max_bend", "use_limits", "joints")),
}
"""The settings by the identifier of the solver."""


def draw_used(layout: bpy.types.UILayout, settings: ChainSettings, names: Iterable[str]) -> None:
    """Draw those of a chain's settings that its solver uses, in the order given."""
    for name in names:
        if name in USES[settings.solver]:
            layout.prop(settings, name)
