"""Rows of `--settings`: one for every setting of a chain, or the reason why there is none.

Without Blender and NumPy, since the launcher imports this file as well. A test compares it with
the actual properties of chains, joints and forces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

MAX_RATIO = 15.0
"""Goal of every row without its own, in times of the constraint: no setting costs more."""
SCENES = {
    "100 of two bones": "25 x 4 x 2",
    "100 of ten bones": "25 x 4 x 10",
    "one of four bones": "1 x 1 x 4",
}
"""Layout of each column of the table, in the order of the goals."""
Values = Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class Setting:
    """A row: chains with a setting, compared with plain chains of Blender's constraint.

    Attributes:
        name: Name in the table.
        goals: Greatest accepted ratio to the constraint, one per scene.
        chain: Settings of the chains.
        force: Settings of the forces on the bones.
        joint: Settings of a joint on the second bone of each chain.
        rig: Changes of the rigs, by their names in `blender.setting_rigs`.
        targets: "in reach", "beyond" (half of them), or "of joints" (in reach of limited bones).
        has_hand: Whether one more bone at the end takes the target's rotation.
        is_tree: Whether all limbs of an armature share its root bone.
        has_pole: Whether each chain has a pole.
        not_in: Scenes where the row is not possible.
    """

    name: str
    goals: tuple[float, float, float] = (MAX_RATIO, MAX_RATIO, MAX_RATIO)
    chain: Values = dataclasses.field(default_factory=dict)
    force: Values = dataclasses.field(default_factory=dict)
    joint: Values = dataclasses.field(default_factory=dict)
    rig: tuple[str, ...] = ()
    targets: str = "in reach"
    has_hand: bool = False
    is_tree: bool = False
    has_pole: bool = False
    not_in: tuple[str, ...] = ()


ALL = (MAX_RATIO, MAX_RATIO, MAX_RATIO)
PLAIN, SOFT = (1.0, 0.6, 2.5), (1.0, 0.6, 4.0)
POLE = ROTATION = (1.2, 0.7, 4.0)
SMALL_COST, STRETCH, HALF = (1.5, 1.5, 4.0), (2.0, 1.5, 4.0), (2.5, 2.0, 4.0)
HINGES = (3.0, 3.0, 6.0)
FORCE_GOALS = (MAX_RATIO, MAX_RATIO, 25.0)
BALLS = {"NEWTON": (15.0, 6.0, 6.0), "FABRIK": (15.0, 8.0, 10.0), "CCD": (15.0, 12.0, 10.0)}
WIDE = 1.2
"""Range to either side of the joint of a row, radians."""
TREE = "tree of four limbs, one bone inherits no rotation, poles"
BARE = {"solver": "FABRIK", "use_finish": False, "iterations": 10}
NEWTON, FABRIK = {"solver": "NEWTON"}, {"solver": "FABRIK"}
STRETCHING = {"use_stretch": True}
ROTATED = {"use_rotation": True, "rotation_bone": "AUTO"}
BY_HEAD = {"use_rotation": True, "rotation_bone": "TIP", "use_tail": False}
WITH_BODY = {"pole_mode": "FOLLOW", "pole_lean": 0.5}
BEYOND = {"rig": ("stretchy",), "targets": "beyond"}

_PLAIN = (
    Setting("plain", PLAIN),
    Setting("NEWTON", HINGES, NEWTON),
    Setting("FABRIK", (1.5, 1.0, 3.0), FABRIK),
    Setting("CCD", (3.0, 4.0, 4.0), {"solver": "CCD"}),
    Setting("FABRIK bare, 10 sweeps", ALL, BARE),
    Setting("tolerance 1e-7", ALL, {"tolerance": 1e-7}),
    Setting("influence 0.5", SMALL_COST, {"influence": 0.5}),
    Setting("start from REST", PLAIN, {"start_from": "REST"}),
    Setting("start from CURRENT", SMALL_COST, {"start_from": "CURRENT"}),
    Setting("keyed bones", PLAIN, rig=("keyed",)),
    Setting("soft distance", SOFT, {"soft_distance": 0.2}),
    Setting("stretch", STRETCH, STRETCHING, **BEYOND),
    Setting("stretch, volume kept", STRETCH, {**STRETCHING, "use_keep_volume": True}, **BEYOND),
    Setting("half of the targets out of reach", targets="beyond"),
    Setting("head to the target", ALL, {"use_tail": False}, has_hand=True),
    Setting("locked axis", SMALL_COST, rig=("locked",)),
)
_POLES_AND_ROTATIONS = (
    Setting("pole", POLE, has_pole=True),
    Setting("pole angle", POLE, {"pole_angle": 0.5}, has_pole=True),
    Setting("flip", ALL, {"use_flip_bend": True}),
    Setting("bend with the body", ALL, WITH_BODY),
    Setting("pole is a bone", rig=("pole bones",), has_pole=True),
    Setting("target is a bone", rig=("handles",)),
    Setting("rotation", ROTATION, ROTATED, has_hand=True),
    Setting("rotation of the tip, by its head", ALL, BY_HEAD, has_hand=True),
    Setting("half rotation", HALF, {**ROTATED, "orient_weight": 0.5}, has_hand=True),
    Setting(
        "half rotation, pole", ALL, {**ROTATED, "orient_weight": 0.5}, has_hand=True, has_pole=True
    ),
    Setting("uneven bones", (4.0, 5.0, 8.0), rig=("uneven",)),
    Setting("uneven bones, pole", rig=("uneven",), has_pole=True),
    Setting("uneven object", rig=("uneven object",)),
    Setting("mirrored object, MIRROR", ALL, {"negative_scale": "MIRROR"}, rig=("mirrored",)),
    Setting("mirrored object, KEEP", ALL, {"negative_scale": "KEEP"}, rig=("mirrored",)),
    *(
        Setting(f"bones inherit scale {mode}, uneven parents", rig=("uneven root", mode))
        for mode in ("FIX_SHEAR", "AVERAGE", "ALIGNED")
    ),
    Setting("a bone inherits no rotation", rig=("unturned",)),
    Setting("Euler bones", rig=("XYZ",)),
    Setting("axis-angle bones", rig=("AXIS_ANGLE",)),
)
_LIMITS = (
    Setting("hinges", HINGES, NEWTON, rig=("hinges",)),
    Setting("stiffness", HINGES, NEWTON, rig=("stiff",)),
    Setting("limits switched off", ALL, {"use_limits": False}, rig=("balls",)),
    *(
        Setting(f"limits{more}, {solver}{how}", goals, {"solver": solver}, rig=("balls",), **extra)
        for solver, ball_goals in BALLS.items()
        for more, how, goals, extra in (
            ("", ", reached", ball_goals, {"targets": "of joints"}),
            ("", ", held back", ball_goals, {}),
            (" and pole", "", (20.0, 10.0, MAX_RATIO), {"targets": "of joints", "has_pole": True}),
        )
    ),
    Setting(
        "limits and rotation, half of the targets out of reach",
        ALL,
        {**NEWTON, **BY_HEAD},
        rig=("balls",),
        has_hand=True,
        targets="beyond",
    ),
)


def _ranges(axes: str) -> dict[str, object]:
    settings: dict[str, object] = {}
    for axis in axes:
        settings.update({f"use_limit_{axis}": True, f"min_{axis}": -WIDE, f"max_{axis}": WIDE})
    return settings


JOINT_RANGES = {
    "BALL": _ranges("xyz"),
    "CONE": {"cone_angle": WIDE, **_ranges("y")},
    "HINGE_X": _ranges("x"),
    "HINGE_Y": _ranges("y"),
    "HINGE_Z": _ranges("z"),
    "ELBOW_X": _ranges("xy"),
    "ELBOW_Z": _ranges("yz"),
    "SWING": _ranges("xz"),
    "FIXED": {},
}
"""Settings of the ranges of each kind of joint."""
SLIDES = {"use_slide": True, "slide_min": -0.2, "slide_max": 0.2}
_JOINTS = tuple(
    Setting(f"joint {name}", joint=joint)
    for name, joint in (
        *((kind, {"kind": kind, **ranges}) for kind, ranges in JOINT_RANGES.items()),
        ("counted from PARENT", {"relative_to": "PARENT", **_ranges("x")}),
        ("counted from CHILD", {"relative_to": "CHILD", "on_first": True, **_ranges("x")}),
        ("stiff", {f"stiffness_{axis}": 0.5 for axis in "xyz"}),
        ("that slides", {**SLIDES, "on_first": True}),
    )
)
FORCE = {"solver": "FORCE"}
_FORCES = (
    Setting("FORCE", (5.0, 8.0, 25.0), FORCE),
    *(
        Setting(f"FORCE, {name}", FORCE_GOALS, FORCE, force)
        for name, force in {
            "stiff to supple": {"stiffness_root": 4.0, "stiffness_tip": 0.5},
            "weight": {"mass": 2.0, "gravity": 1.0},
            "comfort": {"comfort_root": 0.1, "comfort_tip": 0.3},
            "creature": {"creature": '{"creature": 1, "stiffness": [4, 1, 0.5]}'},
            "CLASSIC": {"force_mode": "CLASSIC"},
            "gain": {"force_gain": 0.2},
            "eases": {"use_gradual": True, "ease": 0.5},
            "no faster than": {"use_gradual": True, "ease": 0.0, "fastest": 5.0},
        }.items()
    ),
    Setting("FORCE, pole", FORCE_GOALS, FORCE, has_pole=True),
    Setting("FORCE, limits", FORCE_GOALS, FORCE, rig=("balls",), targets="of joints"),
    Setting("FORCE, limits, held back", FORCE_GOALS, FORCE, rig=("balls",)),
    Setting("FORCE, limits and pole, held back", FORCE_GOALS, FORCE, rig=("balls",), has_pole=True),
    Setting("FORCE, half of the targets out of reach", FORCE_GOALS, FORCE, targets="beyond"),
    Setting(
        "FORCE, rotation, half of the targets out of reach",
        FORCE_GOALS,
        {**FORCE, **ROTATED},
        has_hand=True,
        targets="beyond",
    ),
)
FOLLOW = {"solver": "FOLLOW"}
_TREES_AND_TAILS = (
    *(
        Setting(name, ALL, chain, is_tree=True, not_in=("one of four bones",), **more)
        for name, chain, more in (
            ("tree of four limbs", NEWTON, {}),
            ("tree of four limbs, FABRIK", FABRIK, {}),
            ("tree of four limbs, weights", {**NEWTON, "weight": 0.5}, {}),
            ("tree of four limbs, poles", NEWTON, {"has_pole": True}),
            ("tree of four limbs, uneven bones", NEWTON, {"rig": ("uneven",)}),
            (TREE, NEWTON, {"rig": ("one unturned",), "has_pole": True}),
            ("tree of four limbs, limits", NEWTON, {"rig": ("balls",), "targets": "of joints"}),
            ("tree of four limbs, limits held back", NEWTON, {"rig": ("balls",)}),
        )
    ),
    Setting("FOLLOW", ALL, FOLLOW),
    Setting("FOLLOW, led by the root", ALL, {**FOLLOW, "follow_lead": "ROOT"}),
    Setting("FOLLOW, bends little", ALL, {**FOLLOW, "max_bend": 0.5}),
    Setting("FOLLOW, anchored", ALL, {**FOLLOW, "use_anchor": True}),
    Setting("FOLLOW, limits", ALL, FOLLOW, rig=("balls",)),
)
ROWS: tuple[Setting, ...] = (
    *_PLAIN, *_POLES_AND_ROTATIONS, *_LIMITS, *_JOINTS, *_FORCES, *_TREES_AND_TAILS,
)  # fmt: skip
LIMITED = {"arm": 3, "six-bone tail": 6, "ten hinges": 10, "spider leg": 4, "finger": 4}
"""Limbs with realistic limits, and their numbers of bones."""
LIMITED_ROWS = tuple(
    Setting(
        f"{limb}{pole}: {solver}", ALL, {"solver": solver},
        rig=(limb,), targets="of joints", has_pole=bool(pole),
    )
    for limb in LIMITED
    for pole in ("", ", pole")
    for solver in BALLS
)  # fmt: skip
"""Rows that are compared with Blender's constraint with the same limits."""

_REASONS = {
    "the solver of chains with two bones, unless a row sets another": ("solver=TWO_BONE",),
    "a name for users": ("name",),
    "a muted chain is not solved": ("mute",),
    "the bone costs nothing, and the scenes differ in their bone counts": ("bone", "chain_count"),
    "the choice of a bone costs nothing": ("joints.bone",),
    "every row has one": ("target",),
    "the settings in it have separate rows": ("joints", "force"),
    "every group has a name, and it is hidden": ("joints.name", "force.name"),
    "the active row of a list": ("active_joint_index",),
    "sets a constraint of Blender on the control, which no solve reads": ("space", "pole_space"),
    "the scenes have no twist bones": ("use_twist_spread",),
    "has an effect only in a whole body, and no scene has one": ("priority", "use_pin", "pull"),
    "read by Plant Feet and by drawing, not by a solve": tuple(
        f"planted={kind}" for kind in ("NONE", "HEEL", "TOE", "FOOT")
    ),
    "written by the chain itself, and read in every row": ("stored_pose",),
    "read only by panels": ("status", "residual"),
}
NO_ROW = {name: reason for reason, names in _REASONS.items() for name in names}
"""Properties without a row, and the reason."""
