"""Which settings of a chain each solver uses."""

from __future__ import annotations

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
"""Which settings solvers use; those of others are not shown."""
