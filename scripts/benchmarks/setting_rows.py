"""What `--settings` measures: a row for every setting of a chain, and why some have none.

No Blender and no NumPy: the launcher reads it, too. A test holds it against the properties that
chains, their joints and their forces really have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

MOST = 15.0
"""Goal of every row that has no other: nothing costs more times the constraint."""
SCENES = {"two": "25 x 4 x 2", "ten": "25 x 4 x 10", "one": "1 x 1 x 4"}
"""By the names that goals have: 100 chains of two bones, 100 of ten, a single chain of four."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A row: chains with something set, against plain ones of Blender's constraint.

    Attributes:
        name: As the table shows it.
        covers: The properties that it is the row of: "influence", "solver=CCD", "force.ease".
        chain: Settings of the chains.
        goals: Most times the constraint, by scene; what is left out has `MOST`.
        force: Settings of what acts on the bones.
        joint: Settings of a joint that each chain gives its second bone.
        rig: What is done to the rigs, names of functions in `setting_rigs`.
        targets: "in reach", "beyond" (half of them), or "of joints" (where limited bones get).
        has_hand: With a bone more, which takes the target's rotation at the end of the others.
        is_tree: All limbs of an armature share its root bone.
        has_pole: A pole for each chain.
        not_in: Scenes in which there is no such thing.
    """

    name: str
    covers: tuple[str, ...] = ()
    chain: Mapping[str, object] = dataclasses.field(default_factory=dict)
    goals: Mapping[str, float] = dataclasses.field(default_factory=dict)
    force: Mapping[str, object] = dataclasses.field(default_factory=dict)
    joint: Mapping[str, object] = dataclasses.field(default_factory=dict)
    rig: tuple[str, ...] = ()
    targets: str = "in reach"
    has_hand: bool = False
    is_tree: bool = False
    has_pole: bool = False
    not_in: tuple[str, ...] = ()

    def goal(self, scene: str) -> float:
        """Return the most times the constraint."""
        return self.goals.get(scene, MOST)


def _goals(two: float, ten: float, one: float = MOST) -> dict[str, float]:
    return {"two": two, "ten": ten, "one": one}


PLAIN = _goals(1.0, 0.6, 2.5)
SOFT = _goals(1.0, 0.6, 4.0)
POLE = _goals(1.2, 0.7, 4.0)
LITTLE = _goals(1.5, 1.5, 4.0)
STRETCH = _goals(2.0, 1.5, 4.0)
ROTATION, HALF = _goals(1.2, 0.7, 4.0), _goals(2.5, 2.0, 4.0)
HINGES = _goals(3.0, 3.0, 6.0)
UNEVEN = _goals(4.0, 5.0, 8.0)
FABRIK, CCD, FORCE = _goals(1.5, 1.0, 3.0), _goals(3.0, 4.0, 4.0), _goals(5.0, 8.0, 25.0)
FORCED = {"one": 25.0}
BALLS = {
    "NEWTON": _goals(15.0, 6.0, 6.0),
    "FABRIK": _goals(15.0, 8.0, 10.0),
    "CCD": _goals(15.0, 12.0, 10.0),
}
POLE_AND_LIMITS = _goals(20.0, 10.0)
ALONE = ("one",)
WIDE = 1.2
"""Radians to either side that the joint of a row has."""


def _plain() -> tuple[Setting, ...]:
    newton = {"solver": "NEWTON"}
    return (
        Setting("plain", ("solver=TWO_BONE", "start_from=KEYED"), goals=PLAIN),
        Setting("NEWTON", ("solver=NEWTON",), newton, HINGES),
        Setting("FABRIK", ("solver=FABRIK",), {"solver": "FABRIK"}, FABRIK),
        Setting("CCD", ("solver=CCD",), {"solver": "CCD"}, CCD),
        Setting(
            "FABRIK bare, 10 sweeps",
            ("use_finish", "iterations"),
            {"solver": "FABRIK", "use_finish": False, "iterations": 10},
        ),
        Setting(
            "CCD bare, 10 sweeps", (), {"solver": "CCD", "use_finish": False, "iterations": 10}
        ),
        Setting("tolerance 1e-7", ("tolerance",), {"tolerance": 1e-7}),
        Setting("influence 0.5", ("influence",), {"influence": 0.5}, LITTLE),
        Setting("start from REST", ("start_from=REST",), {"start_from": "REST"}, PLAIN),
        Setting("start from CURRENT", ("start_from=CURRENT",), {"start_from": "CURRENT"}, LITTLE),
        Setting("keyed bones", goals=PLAIN, rig=("keyed",)),
        Setting("soft distance", ("soft_distance",), {"soft_distance": 0.2}, SOFT),
        Setting(
            "stretch", ("use_stretch",), {"use_stretch": True}, STRETCH,
            rig=("stretchy",), targets="beyond",
        ),
        Setting(
            "stretch, volume kept", ("use_keep_volume",),
            {"use_stretch": True, "use_keep_volume": True}, STRETCH,
            rig=("stretchy",), targets="beyond",
        ),
        Setting("half of the targets out of reach", targets="beyond"),
        Setting("head to the target", ("use_tail",), {"use_tail": False}, has_hand=True),
        Setting("locked axis", goals=LITTLE, rig=("locked",)),
        Setting("FABRIK, locked axis", (), {"solver": "FABRIK"}, rig=("locked",)),
    )  # fmt: skip


def _poles_and_turns() -> tuple[Setting, ...]:
    body = ("pole_mode=FOLLOW", "pole_lean")
    turned = {"use_rotation": True, "rotation_bone": "AUTO"}
    half = {**turned, "orient_weight": 0.5}
    mirrored = ("mirrored",)
    return (
        Setting("pole", ("pole_target", "pole_mode=TARGET"), goals=POLE, has_pole=True),
        Setting("pole angle", ("pole_angle",), {"pole_angle": 0.5}, POLE, has_pole=True),
        Setting("pole, flip", (), {"use_flip_bend": True}, has_pole=True),
        Setting("flip", ("use_flip_bend",), {"use_flip_bend": True}),
        Setting("bend with the body", body, {"pole_mode": "FOLLOW", "pole_lean": 0.5}),
        Setting("pole is a bone", ("pole_subtarget",), rig=("pole bones",), has_pole=True),
        Setting("target is a bone", ("subtarget",), rig=("handles",)),
        Setting(
            "rotation", ("use_rotation", "rotation_bone=AUTO"), turned, ROTATION, has_hand=True
        ),
        Setting(
            "rotation of the tip, by its head", ("rotation_bone=TIP",),
            {"use_rotation": True, "use_tail": False}, has_hand=True,
        ),
        Setting("half rotation", ("orient_weight",), half, HALF, has_hand=True),
        Setting("rotation, pole", (), turned, has_hand=True, has_pole=True),
        Setting("half rotation, pole", (), half, has_hand=True, has_pole=True),
        Setting("uneven bones", goals=UNEVEN, rig=("uneven",)),
        Setting("uneven bones, pole", rig=("uneven",), has_pole=True),
        Setting("uneven object", rig=("uneven object",)),
        Setting(
            "mirrored object, MIRROR", ("negative_scale=MIRROR",),
            {"negative_scale": "MIRROR"}, rig=mirrored,
        ),
        Setting(
            "mirrored object, KEEP", ("negative_scale=KEEP",),
            {"negative_scale": "KEEP"}, rig=mirrored,
        ),
        *(
            Setting(f"bones inherit scale {mode}, uneven parents", rig=("uneven root", mode))
            for mode in ("FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
        ),
        Setting("a bone inherits no rotation", rig=("unturned",)),
        Setting("Euler bones", rig=("XYZ",)),
        Setting("axis-angle bones", rig=("AXIS_ANGLE",)),
    )  # fmt: skip


RANGED = {
    "BALL": "xyz",
    "CONE": "y",
    "HINGE_X": "x",
    "HINGE_Y": "y",
    "HINGE_Z": "z",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
    "SWING": "xz",
    "FIXED": "",
}
"""The axes about which kinds of joints have a range each."""


def _limits() -> tuple[Setting, ...]:
    found = [
        Setting("hinges", (), {"solver": "NEWTON"}, HINGES, rig=("hinges",)),
        Setting("stiffness", (), {"solver": "NEWTON"}, HINGES, rig=("stiff",)),
        Setting("limits switched off", ("use_limits",), {"use_limits": False}, rig=("balls",)),
    ]
    balls = Setting("", rig=("balls",))
    for solver, goals in BALLS.items():
        ours = dataclasses.replace(balls, chain={"solver": solver}, goals=goals)
        reached = dataclasses.replace(ours, targets="of joints")
        found += [
            dataclasses.replace(reached, name=f"limits, {solver}, reached"),
            dataclasses.replace(ours, name=f"limits, {solver}, held back"),
            dataclasses.replace(
                reached,
                name=f"limits and pole, {solver}",
                goals=POLE_AND_LIMITS,
                has_pole=True,
            ),
        ]
    return tuple(found)


def _ranges(axes: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for axis in axes:
        found.update({f"use_limit_{axis}": True, f"min_{axis}": -WIDE, f"max_{axis}": WIDE})
    return found


def _joints() -> tuple[Setting, ...]:
    also = {"BALL": (*_ranges("xyz"), "relative_to=REST"), "CONE": ("cone_angle",)}

    def row(name: str, covers: Iterable[str], **joint: object) -> Setting:
        return Setting(f"joint {name}", tuple(f"joints.{each}" for each in covers), joint=joint)

    found = []
    for kind, axes in RANGED.items():
        cone = {"cone_angle": WIDE} if kind == "CONE" else {}
        covers = (f"kind={kind}", *also.get(kind, ()))
        found.append(row(kind, covers, kind=kind, **cone, **_ranges(axes)))
    stiff = {f"stiffness_{axis}": 0.5 for axis in "xyz"}
    slide: dict[str, object] = {"use_slide": True, "slide_min": -0.2, "slide_max": 0.2}
    return (
        *found,
        row("counted from PARENT", ("relative_to=PARENT",), relative_to="PARENT", **_ranges("x")),
        row(
            "counted from CHILD",
            ("relative_to=CHILD",),
            relative_to="CHILD",
            on_first=True,
            **_ranges("x"),
        ),
        row("stiff", stiff, **stiff),
        row("that slides", slide, on_first=True, **slide),
    )


def _forces() -> tuple[Setting, ...]:
    pulled = {"solver": "FORCE"}

    def row(name: str, covers: tuple[str, ...] = (), **force: object) -> Setting:
        names = tuple(f"force.{each}" for each in covers)
        return Setting(f"FORCE, {name}", names, pulled, FORCED, force)

    return (
        Setting("FORCE", ("solver=FORCE", "force.force_mode=EXACT"), pulled, FORCE),
        row("stiff to supple", ("stiffness_root", "stiffness_tip"),
            stiffness_root=4.0, stiffness_tip=0.5),
        row("weight", ("mass", "gravity"), mass=2.0, gravity=1.0),
        row("comfort", ("comfort_root", "comfort_tip"), comfort_root=0.1, comfort_tip=0.3),
        row("creature", ("creature",), creature='{"creature": 1, "stiffness": [4, 1, 0.5]}'),
        row("CLASSIC", ("force_mode=CLASSIC",), force_mode="CLASSIC"),
        row("gain", ("force_gain",), force_gain=0.2),
        row("eases", ("use_gradual", "ease"), use_gradual=True, ease=0.5),
        row("no faster than", ("fastest",), use_gradual=True, ease=0.0, fastest=5.0),
        Setting("FORCE, pole", (), pulled, FORCED, has_pole=True),
        Setting("FORCE, limits", (), pulled, FORCED, rig=("balls",), targets="of joints"),
    )  # fmt: skip


def _trees_and_tails() -> tuple[Setting, ...]:
    newton, fabrik = {"solver": "NEWTON"}, {"solver": "FABRIK"}
    followed, by_root = {"solver": "FOLLOW"}, {"solver": "FOLLOW", "follow_lead": "ROOT"}

    def tree(name: str, chain: Mapping[str, object], **more: object) -> Setting:
        return Setting(f"tree of four limbs{name}", chain=chain, is_tree=True, not_in=ALONE, **more)

    return (
        tree("", newton),
        tree(", FABRIK", fabrik),
        tree(", weights", {**newton, "weight": 0.5}, covers=("weight",)),
        tree(", poles", newton, has_pole=True),
        tree(", uneven bones", newton, rig=("uneven",)),
        tree(
            ", one bone inherits no rotation, poles", newton, rig=("one unturned",), has_pole=True
        ),
        tree(", limits", newton, rig=("balls",), targets="of joints"),
        tree(", limits held back", newton, rig=("balls",)),
        Setting("FOLLOW", ("solver=FOLLOW", "follow_lead=TIP"), followed),
        Setting("FOLLOW, led by the root", ("follow_lead=ROOT",), by_root),
        Setting("FOLLOW, bends little", ("max_bend",), {**followed, "max_bend": 0.5}),
        Setting("FOLLOW, anchored", ("use_anchor",), {**followed, "use_anchor": True}),
        Setting("FOLLOW, limits", (), followed, rig=("balls",)),
        Setting("FOLLOW, uneven bones", (), followed, rig=("uneven",)),
    )


ROWS: tuple[Setting, ...] = (
    *_plain(), *_poles_and_turns(), *_limits(), *_joints(), *_forces(), *_trees_and_tails(),
)  # fmt: skip

NO_ROW = {
    "name": "a word for people",
    "mute": "a muted chain is not solved",
    "bone": "which bone is no cost; how many are, the scenes differ by",
    "chain_count": "the scenes have chains of two, four and ten bones",
    "target": "every row has one",
    "joints": "its entries have rows of their own",
    "joints.name": "every group has one, and it is not shown",
    "joints.bone": "which bone is no cost",
    "active_joint_index": "says which row of a list is shown",
    "force": "its entries have rows of their own",
    "force.name": "every group has one, and it is not shown",
    "space": "a constraint of Blender's own on the control, which no solve reads",
    "pole_space": "the same of the pole",
    "use_twist_spread": "the scenes have no twist bones to spread a turn along",
    **dict.fromkeys(
        ("priority", "use_pin", "pull"), "counts in a whole body only, which no scene has"
    ),
    **dict.fromkeys(
        [f"planted={kind}" for kind in ("NONE", "HEEL", "TOE", "FOOT")],
        "read by Plant Feet and drawn, which no solve does",
    ),
    "stored_pose": "written by the chain itself, read by every row",
    "status": "read by panels only",
    "residual": "read by panels only",
}
"""Properties that have no row, and why."""
