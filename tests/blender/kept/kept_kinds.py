"""Every kind of chain that the file of kept poses has, one armature object each.

A kind is a name and what it does to a rig before and after the chain is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import bpy

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import give

Dress = Callable[[bpy.types.Object, Sequence[str]], None]
"""What is done to an object and its chain's bones before the chain is there."""
Suit = Callable[[bpy.types.PropertyGroup, Sequence[str]], None]
"""What is done to the chain's settings."""

INHERITED = ("FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
JOINTS = ("BALL", "CONE", "HINGE_X", "HINGE_Y", "HINGE_Z", "ELBOW_X", "ELBOW_Z", "SWING", "FIXED")
AXES = {
    "BALL": "xyz",
    "CONE": "xyz",
    "HINGE_X": "x",
    "HINGE_Y": "y",
    "HINGE_Z": "z",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
    "SWING": "xz",
    "FIXED": "",
}
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE")


@dataclass(frozen=True)
class Kind:
    """One kind of chain.

    Attributes:
        solver: As the setting says it.
        settings: Other settings of the chain.
        dress: Done to the rig first.
        suit: Done to the chain last.
        axes: About which bones turn to where the targets are, by their number; else any.
        count: Bones of the chain; 0 for two of Two-Bone and four of others.
        has_pole: With a pole that moves.
        is_connected: Whether the bones are connected.
        modes: Rotation modes of the bones.
        far: How far out the targets lie, in times of what is reached by turning.
        only_tips: Why rotations need not be the same; empty where they have to be.
    """

    solver: str
    settings: Mapping[str, object] = field(default_factory=dict)
    dress: tuple[Dress, ...] = ()
    suit: tuple[Suit, ...] = ()
    axes: Mapping[int, str] = field(default_factory=dict)
    count: int = 0
    has_pole: bool = False
    is_connected: bool = True
    modes: str | tuple[str, ...] = "QUATERNION"
    far: float = 1.0
    only_tips: str = ""

    @property
    def bones(self) -> int:
        """How many bones the chain has."""
        return self.count or (2 if self.solver == "TWO_BONE" else 4)


def bones_set(**settings: object) -> Dress:
    """Set properties of all pose bones of the chain."""

    def dress(ob: bpy.types.Object, bones: Sequence[str]) -> None:
        for name in bones:
            for key, value in settings.items():
                setattr(ob.pose.bones[name], key, value)

    return dress


def armature_bones_set(**settings: object) -> Dress:
    """Set properties of all armature bones of the chain."""
    return lambda ob, bones: scaled_rigs.set_bones(ob, bones, **settings)


def object_set(**settings: object) -> Dress:
    """Set properties of the object."""

    def dress(ob: bpy.types.Object, _bones: Sequence[str]) -> None:
        for key, value in settings.items():
            setattr(ob, key, value)

    return dress


def limited(x: float = 60.0, y: float = 40.0, z: float = 60.0) -> Dress:
    """Give all bones ranges about all axes, in degrees to both sides."""
    settings: dict[str, object] = {}
    for axis, angle in (("x", x), ("y", y), ("z", z)):
        settings[f"use_ik_limit_{axis}"] = True
        settings[f"ik_min_{axis}"] = -math.radians(angle)
        settings[f"ik_max_{axis}"] = math.radians(angle)
    return bones_set(**settings)


def uneven_bones(ob: bpy.types.Object, bones: Sequence[str]) -> None:
    """Scale the bone above the chain and one within it unevenly."""
    scaled_rigs.scale_bones(ob, {"Above.0": (1.3, 1.0, 0.8), bones[0]: (1.0, 0.9, 1.2)})


def hinged_in_the_middle(ob: bpy.types.Object, bones: Sequence[str]) -> None:
    """Have the second bone turn about its X axis alone, from straight on."""
    bone = ob.pose.bones[bones[1]]
    bone.lock_ik_y = bone.lock_ik_z = True


def locked_axis(ob: bpy.types.Object, bones: Sequence[str]) -> None:
    """Lock a rotation channel of a bone."""
    bone = ob.pose.bones[bones[1]]
    bone.lock_rotations_4d = True
    bone.lock_rotation[1] = True


def keyed_bones(ob: bpy.types.Object, bones: Sequence[str]) -> None:
    """Key the rotations of all bones."""
    rigs.key_bones(ob, seed=len(ob.name), frames=(1, 4, 7))


def keyed_influence(chain: bpy.types.PropertyGroup, _bones: Sequence[str]) -> None:
    """Key the influence of a chain."""
    rigs.key(chain.id_data, chain.path_from_id("influence"), {1: 0.2, 7: 1.0})


def sheared(ob: bpy.types.Object, _bones: Sequence[str]) -> None:
    """Hang the object under what shears it."""
    turn = scaled_rigs.random_quaternion(rigs.make_rng(3), 1.0)
    ob.parent = scaled_rigs.sheared_parent((1.3, 0.8, 1.0), turn, ob.name)


def mirrored(ob: bpy.types.Object, _bones: Sequence[str]) -> None:
    """Mirror the object."""
    ob.scale = (-1.0, 1.0, 1.0)


def joint(kind: str, zero: str = "REST") -> Suit:
    """Give the second bone a joint of this kind."""

    def suit(chain: bpy.types.PropertyGroup, bones: Sequence[str]) -> None:
        ranges = {axis: (-70, 70) for axis in AXES[kind]} if kind != "CONE" else {"cone": 50.0}
        give(chain, bones[1], kind, relative_to=zero, **ranges)

    return suit


def slide(chain: bpy.types.PropertyGroup, bones: Sequence[str]) -> None:
    """Let the third bone slide, or the second of two."""
    give(
        chain, bones[min(2, len(bones) - 1)], "BALL", use_slide=True, slide_min=-0.2, slide_max=0.3
    )


def forces(**settings: object) -> Suit:
    """Set what acts on the bones."""

    def suit(chain: bpy.types.PropertyGroup, _bones: Sequence[str]) -> None:
        for name, value in settings.items():
            setattr(chain.force, name, value)

    return suit


def _of_solver(solver: str) -> dict[str, Kind]:
    """Return the kinds that every solver but Follow has."""
    turned = 3 if solver == "TWO_BONE" else 0
    whole = {"use_rotation": True}
    half = {"use_rotation": True, "orient_weight": 0.5}
    stretches = (bones_set(ik_stretch=0.5),)
    few = {1: "x"}
    return {
        "free": Kind(solver),
        "limits": Kind(solver, dress=(limited(),)),
        "hinge": Kind(solver, dress=(hinged_in_the_middle,), axes=few),
        "pole": Kind(solver, has_pole=True),
        "pole and limits": Kind(solver, dress=(limited(),), has_pole=True),
        "pole angle and flip": Kind(
            solver, {"pole_angle": 0.7, "use_flip_bend": True}, has_pole=True
        ),
        "rotation": Kind(solver, whole, count=turned),
        "rotation of head": Kind(solver, whole | {"use_tail": False}, count=turned),
        "half rotation": Kind(solver, half, count=turned),
        "half rotation of head": Kind(solver, half | {"use_tail": False}, count=turned),
        "influence": Kind(solver, {"influence": 0.6}),
        "locked axis": Kind(solver, dress=(locked_axis,)),
        "CURRENT": Kind(solver, {"start_from": "CURRENT"}),
        "REST": Kind(solver, {"start_from": "REST"}),
        "keyed": Kind(solver, dress=(keyed_bones,)),
        "soft": Kind(solver, {"soft_distance": 0.8}, far=1.05),
        "stretch": Kind(
            solver,
            {"use_stretch": True, "use_keep_volume": True},
            dress=stretches,
            far=2.0,
            only_tips="A straight chain tells its bend by the root of what float32 rounds off.",
        ),
        "soft stretch": Kind(
            solver, {"use_stretch": True, "soft_distance": 0.3}, dress=stretches, far=1.2
        ),
        "slide": Kind(solver, suit=(slide,), is_connected=False),
        # A little nearer: where a limb is straight its roll tells nothing.
        "uneven bones": Kind(solver, dress=(uneven_bones,), far=0.85),
        "uneven object": Kind(solver, dress=(object_set(scale=(1.2, 0.8, 1.0)),)),
        "mirrored KEEP": Kind(solver, {"negative_scale": "KEEP"}, dress=(mirrored,)),
        "mirrored MIRROR": Kind(solver, {"negative_scale": "MIRROR"}, dress=(mirrored,)),
    }


def _of_newton() -> dict[str, Kind]:
    """Return what one solver is enough for."""
    found = {
        f"{mode} bones": Kind("NEWTON", dress=(keyed_bones,), modes=mode)
        for mode in rigs.ROTATION_MODES[1:]
    }
    for inherited in INHERITED:
        dress = (uneven_bones, armature_bones_set(inherit_scale=inherited))
        found[f"inherits {inherited}"] = Kind("NEWTON", dress=dress)
    unturned = (armature_bones_set(use_inherit_rotation=False),)
    for kind in JOINTS:
        found[f"joint {kind}"] = Kind("NEWTON", suit=(joint(kind),), axes={1: AXES[kind]})
    for zero in ("PARENT", "CHILD"):
        found[f"joint from {zero}"] = Kind("NEWTON", suit=(joint("BALL", zero),))
    return found | {
        "inherits no rotation": Kind("NEWTON", dress=unturned),
        "sheared": Kind("NEWTON", dress=(sheared,)),
        "sheared, pole": Kind("NEWTON", dress=(sheared,), has_pole=True),
        "keyed influence": Kind("NEWTON", suit=(keyed_influence,)),
        "stiff": Kind("NEWTON", dress=(bones_set(ik_stiffness_x=0.5, ik_stiffness_z=0.8),)),
        "no limits": Kind("NEWTON", {"use_limits": False}, dress=(limited(5, 5, 5),)),
        "out of reach": Kind("NEWTON", far=2.0),
        "held back": Kind(
            "NEWTON",
            dress=(limited(6, 5, 6),),
            far=0.8,
            only_tips="Targets that limits hold back are tried from many poses, of which the best"
            " may be several.",
        ),
        "long": Kind("NEWTON", count=16),
    }


def _of_sweeps() -> dict[str, Kind]:
    bare = {"use_finish": False, "iterations": 12}
    return {
        f"{solver} bare{word}": Kind(solver, bare, dress=dress)
        for solver in ("FABRIK", "CCD")
        for word, dress in (("", ()), (" with limits", (limited(),)))
    }


def _of_force() -> dict[str, Kind]:
    springs = {"stiffness_root": 4.0, "stiffness_tip": 0.5, "gravity": 1.0}
    return {
        "pole and limits": Kind(
            "FORCE",
            dress=(limited(),),
            has_pole=True,
            only_tips="Settling goes on until little is gained: how far the pole is followed there"
            " hangs on the last digits.",
        ),
        "springs": Kind("FORCE", suit=(forces(**springs),)),
        "springs and limits": Kind("FORCE", dress=(limited(),), suit=(forces(**springs),)),
        "springs and pole": Kind("FORCE", suit=(forces(**springs),), has_pole=True),
        "comfort": Kind(
            "FORCE",
            suit=(forces(**springs, comfort_root=0.2, comfort_tip=0.4),),
            only_tips="With comfort several ends may be equally good.",
        ),
        "eases": Kind("FORCE", suit=(forces(**springs, use_gradual=True, ease=0.1),)),
        "fastest": Kind(
            "FORCE", suit=(forces(**springs, use_gradual=True, ease=0.0, fastest=2.0),)
        ),
        "CLASSIC": Kind("FORCE", suit=(forces(force_mode="CLASSIC"),)),
        "gain": Kind("FORCE", {"iterations": 40}, suit=(forces(force_gain=0.2),)),
    }


def _of_follow() -> dict[str, Kind]:
    return {
        "tip": Kind("FOLLOW"),
        "root": Kind("FOLLOW", {"follow_lead": "ROOT"}),
        "bends little": Kind("FOLLOW", {"max_bend": 0.5}),
        "uneven bones": Kind("FOLLOW", dress=(uneven_bones,)),
        "influence": Kind("FOLLOW", {"influence": 0.6}),
        "mirrored": Kind("FOLLOW", dress=(mirrored,)),
    }


KINDS: dict[str, Kind] = {
    **{f"{solver} {name}": kind for solver in SOLVERS for name, kind in _of_solver(solver).items()},
    **{f"NEWTON {name}": kind for name, kind in _of_newton().items()},
    **_of_sweeps(),
    **{f"FORCE {name}": kind for name, kind in _of_force().items()},
    **{f"FOLLOW {name}": kind for name, kind in _of_follow().items()},
}
