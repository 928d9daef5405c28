"""The joints that chains define for their bones, with more than IK settings of bones can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ...core import JointKind
from ...core.kinematics.joint_limits import FREE
from ...core.model.message import Message
from ...rig.planning.checks import check_settings
from ...rig.reading.bone_joints import KINDS, MAX_STIFFNESS
from ...rig.reading.spec import JointSpec, RelativeTo
from ..chains import NOT_KEYABLE, ChainGroup, set_values, tag
from ..renaming import bone_name_keywords

KINDS_OF_JOINTS = (
    (
        "BALL",
        "Ball",
        "Swings to all sides and twists about the bone's Y axis. Each axis has its own range",
    ),
    ("CONE", "Cone", "Swings to all sides up to one angle, and twists about the bone's Y axis"),
    ("HINGE_X", "Hinge X", "Turns about the bone's X axis only"),
    ("HINGE_Y", "Hinge Y", "Twists about the bone's Y axis only"),
    ("HINGE_Z", "Hinge Z", "Turns about the bone's Z axis only"),
    ("ELBOW_X", "Elbow X", "Turns about the bone's X axis, and twists about its Y axis"),
    ("ELBOW_Z", "Elbow Z", "Turns about the bone's Z axis, and twists about its Y axis"),
    ("SWING", "Swing", "Swings to all sides without twist. Each axis has its own range"),
    ("FIXED", "Fixed", "Does not turn"),
)
ZEROS = (
    ("REST", "Rest Pose", "Angles are measured from the bone's rest pose"),
    (
        "PARENT",
        "Parent Bone",
        "Angles are measured from the pose in which the bone is in line with its parent",
    ),
    (
        "CHILD",
        "Child Bone",
        "The joint holds the next bone of the chain. Angles are measured from the pose in which"
        " that bone is in line with this one",
    ),
)
RANGED_AXES = {kind.name: "".join(compress("xyz", free)) for kind, free in FREE.items()}
RANGED_AXES["CONE"] = "y"
"""Axes about which each kind has a range."""
STIFF_AXES = RANGED_AXES | {"CONE": "xyz"}


def _use_limit(axis: str) -> Any:
    return BoolProperty(
        name=f"Limit {axis}",
        description=f"Keep turns about the bone's {axis} axis between two angles",
        **NOT_KEYABLE,
    )


def _end(axis: str, word: str, degrees: int) -> Any:
    end = {"Min": "Smallest", "Max": "Largest"}[word]
    return FloatProperty(
        name=f"{word} {axis}",
        description=f"{end} turn about the bone's {axis} axis, in degrees. Both ends of the range"
        " may be on the same side of zero",
        default=math.radians(degrees),
        soft_min=-math.pi,
        soft_max=math.pi,
        subtype="ANGLE",
        **NOT_KEYABLE,
    )


def _stiffness(axis: str) -> Any:
    return FloatProperty(
        name=f"Stiffness {axis}",
        description=f"Resistance of the bone to turns about its {axis} axis while other bones can"
        f" turn, from 0 (free) to {MAX_STIFFNESS:g}",
        min=0.0,
        max=MAX_STIFFNESS,
        subtype="FACTOR",
        **NOT_KEYABLE,
    )


def _slide_end(word: str, default: float) -> Any:
    end = {"Min": "Start", "Max": "End"}[word]
    return FloatProperty(
        name=f"{word} Slide",
        description=f"{end} of the slide along the bone's Y axis at rest, measured from its stored"
        " location; in scene units",
        default=default,
        subtype="DISTANCE",
        **NOT_KEYABLE,
    )


class JointSettings(bpy.types.PropertyGroup):
    """The joint of one bone in one chain, used instead of the bone's IK settings."""

    bone: StringProperty(
        name="Bone", description="The bone that has this joint", **bone_name_keywords("bone", tag)
    )
    kind: EnumProperty(
        name="Kind",
        description="Axes of the bone that the joint can turn about",
        items=KINDS_OF_JOINTS,
        default="BALL",
        **NOT_KEYABLE,
    )
    relative_to: EnumProperty(
        name="Angles From",
        description="Pose of the bone in which the angles of the joint are zero",
        items=ZEROS,
        default="REST",
        **NOT_KEYABLE,
    )
    use_limit_x: _use_limit("X")
    min_x: _end("X", "Min", -180)
    max_x: _end("X", "Max", 180)
    use_limit_y: _use_limit("Y")
    min_y: _end("Y", "Min", -180)
    max_y: _end("Y", "Max", 180)
    use_limit_z: _use_limit("Z")
    min_z: _end("Z", "Min", -180)
    max_z: _end("Z", "Max", 180)
    cone_angle: FloatProperty(
        name="Cone Angle",
        description="Largest swing of the bone from zero to every side; in degrees",
        default=math.radians(45.0),
        min=0.0,
        max=math.pi,
        subtype="ANGLE",
        **NOT_KEYABLE,
    )
    stiffness_x: _stiffness("X")
    stiffness_y: _stiffness("Y")
    stiffness_z: _stiffness("Z")
    use_slide: BoolProperty(
        name="Slide",
        description="Let the bone move along its own Y axis like a piston. The bone must not be"
        " connected to its parent",
        **NOT_KEYABLE,
    )
    slide_min: _slide_end("Min", 0.0)
    slide_max: _slide_end("Max", 1.0)


def joint_spec(settings: JointSettings) -> JointSpec:
    """Return a joint as a frozen record; a cone becomes a ball with one range to all sides.

    Raises:
        RigError: If a number that this kind uses is not finite.
    """
    kind = settings.kind
    ranged = [axis for axis in RANGED_AXES[kind] if getattr(settings, f"use_limit_{axis}")]
    names = [f"{end}_{axis}" for axis in ranged for end in ("min", "max")]
    names += ["stiffness_x", "stiffness_y", "stiffness_z", "cone_angle"]
    names += ["slide_min", "slide_max"] if settings.use_slide else []
    check_settings(settings, names, Message("the joint of '{bone}'", bone=settings.bone))
    low, high = [-math.inf] * 3, [math.inf] * 3
    for axis in ranged:
        i = "xyz".index(axis)
        low[i] = getattr(settings, f"min_{axis}")
        high[i] = getattr(settings, f"max_{axis}")
    if kind == "CONE":
        low[0] = low[2] = -settings.cone_angle
        high[0] = high[2] = settings.cone_angle
    return JointSpec(
        bone=settings.bone,
        kind=JointKind.BALL if kind == "CONE" else JointKind[kind],
        low=(low[0], low[1], low[2]),
        high=(high[0], high[1], high[2]),
        stiffness=(settings.stiffness_x, settings.stiffness_y, settings.stiffness_z),
        relative_to=RelativeTo(settings.relative_to),
        slide=(settings.slide_min, settings.slide_max) if settings.use_slide else (0.0, 0.0),
        is_cone=kind == "CONE",
    )


def joints_by_bone(chain: ChainGroup, bones: Sequence[str]) -> dict[str, JointSettings]:
    """Return the joints of a chain by the bone that they hold; of several joints the first."""
    joints = reversed(chain.joints)
    return {held_bone(bones, joint.bone, joint.relative_to): joint for joint in joints}


def held_bone(bones: Sequence[str], bone: str, relative_to: str) -> str:
    """Return the bone of a chain that the joint of a bone holds; empty if it holds none."""
    if relative_to == "CHILD":
        return dict(pairwise(bones)).get(bone, "")
    return bone if bone in bones else ""


def slides_of(chain: ChainGroup, bones: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the slide ranges in the joints of a chain, by the bone that slides."""
    return {
        bone: (joint.slide_min, joint.slide_max)
        for bone, joint in joints_by_bone(chain, bones).items()
        if joint.use_slide
    }


def copy_bone_settings(
    settings: JointSettings, bone: bpy.types.PoseBone, slide: tuple[float, float] | None = None
) -> None:
    """Copy the IK settings of a bone to a joint, with a slide, which bones cannot have."""
    free = (not bone.lock_ik_x, not bone.lock_ik_y, not bone.lock_ik_z)
    values: dict[str, object] = {"bone": bone.name, "kind": KINDS[free].name}
    for axis in "xyz":
        if getattr(bone, f"use_ik_limit_{axis}"):
            values[f"use_limit_{axis}"] = True
            values[f"min_{axis}"] = getattr(bone, f"ik_min_{axis}")
            values[f"max_{axis}"] = getattr(bone, f"ik_max_{axis}")
        stiffness = getattr(bone, f"ik_stiffness_{axis}")
        values[f"stiffness_{axis}"] = min(stiffness, MAX_STIFFNESS)
    if slide is not None:
        values |= {"use_slide": True, "slide_min": slide[0], "slide_max": slide[1]}
    set_values(settings, values)
