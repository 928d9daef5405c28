"""The settings of chains as Blender stores and shows them."""

from __future__ import annotations

from contextlib import suppress
from math import pi
from typing import Any, get_type_hints

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..core import IKError
from ..core.model.message import Message
from ..core.solving.sweeps import MOST_SWEEPS
from .chains import (
    DEFAULT_NAME,
    EXTENSIBLE,
    KEYABLE,
    NOT_KEYABLE,
    NOT_SHOWN,
    OVERRIDABLE,
    SHARE,
    make_name_unique,
    tag,
)
from .choices import (
    LABEL_CONTEXT,
    LEADS,
    NEGATIVE_SCALES,
    PLANTED,
    POLE_MODES,
    ROTATION_BONES,
    SOLVERS,
    STARTS,
    TOLERANCE,
)
from .controls.bodies import set_default_priority
from .controls.space_names import space_properties
from .forces import ForceSettings
from .joints.joint_definitions import JointSettings
from .records import anchor_chain
from .renaming import bone_name_keywords
from .status import residual, status
from .stored import change_influence, change_solver, change_stretch, release


def _retarget(settings: ChainSettings, context: bpy.types.Context) -> None:
    anchor_chain(settings)
    tag(settings, context)


def _take_tip(settings: ChainSettings, context: bpy.types.Context) -> None:
    # A chain that a script has just added still has the name of all new chains.
    make_name_unique(settings, context)
    set_default_priority(settings)
    _rechain(settings, context)


def _rechain(settings: ChainSettings, context: bpy.types.Context) -> None:
    """Give the former bones their stored pose back before the chain drives others."""
    # A pose that cannot be given back stays stored, and the status says so.
    with suppress(IKError):
        release(settings)
    _retarget(settings, context)


BONE_KEYWORDS = NOT_KEYABLE | {"update": _rechain}
"""Keywords of settings that decide which bones a chain drives."""
ANCHOR_KEYWORDS = NOT_KEYABLE | {"update": _retarget}
"""Keywords of settings that name an object that a chain follows."""


class ChainSettings(bpy.types.PropertyGroup):
    """The settings of one chain; names follow Blender's IK constraint."""

    name: StringProperty(
        name="Name",
        description="Name of the chain in lists and messages. A number is added if another chain"
        " of the armature has the same name",
        default=DEFAULT_NAME,
        override=OVERRIDABLE,
        update=make_name_unique,
    )
    mute: BoolProperty(
        name="Mute",
        description="Switch the chain off. Its bones return to their own pose",
        **KEYABLE | {"update": change_influence},
    )
    influence: FloatProperty(
        name="Influence",
        description="Amount by which the bones follow the target, from 0 (their own pose) to 1"
        " (the target)",
        **SHARE,
        **KEYABLE | {"update": change_influence},
    )
    bone: StringProperty(
        name="Tip Bone",
        description="The last bone of the chain. Its tail or head goes to the target",
        **bone_name_keywords("bone", _take_tip),
    )
    chain_count: IntProperty(
        name="Chain Length",
        translation_context=LABEL_CONTEXT,
        description="Number of bones in the chain, counted from the tip bone up through its"
        " parents. 0: all bones up to the topmost parent",
        min=0,
        max=300,
        **BONE_KEYWORDS,
    )
    solver: EnumProperty(
        name="Solver",
        description="Method that turns the bones toward the target. The panels show the settings"
        " that it uses",
        translation_context=LABEL_CONTEXT,
        items=SOLVERS,
        default="NEWTON",
        **NOT_KEYABLE | {"update": change_solver},
    )
    target: PointerProperty(
        name="Target",
        description="The object that the tip of the chain follows",
        type=bpy.types.Object,
        **ANCHOR_KEYWORDS,
    )
    subtarget: StringProperty(
        name="Target Bone",
        description="The bone that the tip of the chain follows, if the target is an armature",
        **bone_name_keywords("subtarget", _retarget),
    )
    pole_target: PointerProperty(
        name="Pole Target",
        translation_context=LABEL_CONTEXT,
        description="The object that the chain bends toward, for example an empty in front of a"
        " knee",
        type=bpy.types.Object,
        **ANCHOR_KEYWORDS,
    )
    pole_subtarget: StringProperty(
        name="Pole Bone",
        description="The bone that the chain bends toward, if the pole target is an armature",
        **bone_name_keywords("pole_subtarget", _retarget),
    )
    space: space_properties("TARGET")
    pole_space: space_properties("POLE")
    pole_angle: FloatProperty(
        name="Pole Angle",
        translation_context=LABEL_CONTEXT,
        description="Angle between the bend and the pole, about the line from the root to the"
        " target; in degrees",
        subtype="ANGLE",
        soft_min=-3.141593,
        soft_max=3.141593,
        **KEYABLE,
    )
    pole_mode: EnumProperty(
        name="Bend",
        translation_context=LABEL_CONTEXT,
        description="Side that the chain bends to. Chains that share bones do not use With Body."
        " They bend like the pose that they start from",
        items=POLE_MODES,
        default="TARGET",
        **NOT_KEYABLE,
    )
    pole_lean: FloatProperty(
        name="Lean",
        translation_context=LABEL_CONTEXT,
        description="Angle that moves the direction in which the bend flips. Change it only if the"
        " bend flips in a pose that you need. At 0 the bend flips when the limb points opposite to"
        " its rest direction. Positive values move this direction away from the side of the bend,"
        " negative values toward that side. Arms: -60 degrees",
        min=-pi,
        max=pi,
        subtype="ANGLE",
        **NOT_KEYABLE,
    )
    use_flip_bend: BoolProperty(
        name="Flip Bend", description="Bend to the other side, away from the pole", **KEYABLE
    )
    negative_scale: EnumProperty(
        name="Negative Scale",
        description="Side that the chain bends to while a negative scale mirrors its object",
        items=NEGATIVE_SCALES,
        default="MIRROR",
        **NOT_KEYABLE,
    )
    use_tail: BoolProperty(
        name="Use Tail",
        description="Bring the tail of the tip bone to the target. Off: bring its head to the"
        " target",
        default=True,
        **BONE_KEYWORDS,
    )
    use_rotation: BoolProperty(
        name="Rotation",
        description="Give one bone the rotation of the target, for example the hand or foot",
        **BONE_KEYWORDS,
    )
    rotation_bone: EnumProperty(
        name="Rotation Bone",
        description="Bone that takes the rotation of the target",
        items=ROTATION_BONES,
        default="TIP",
        **BONE_KEYWORDS,
    )
    use_twist_spread: BoolProperty(
        name="Twist Spread",
        description="Spread the turn of the hand or foot evenly over the bones of the segment"
        " before it and over twist bones. The joints stay in place",
        **BONE_KEYWORDS,
    )
    orient_weight: FloatProperty(
        name="Rotation Weight",
        description="Share of the target's rotation that the bone takes, from 0 (none) to 1 (all)",
        **SHARE,
        **KEYABLE,
    )
    iterations: IntProperty(
        name="Iterations",
        description="Maximum number of iterations in one update. The solver stops sooner if it"
        " reaches the target",
        default=500,
        min=1,
        soft_max=500,
        **NOT_KEYABLE,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest distance at which the target counts as reached; in scene units",
        **TOLERANCE,
        soft_max=0.1,
        **NOT_KEYABLE,
    )
    use_finish: BoolProperty(
        name="Finish with Newton",
        description=f"Let Newton finish the solution after {MOST_SWEEPS} sweeps of FABRIK or CCD."
        " It also brings limited chains to their poles and rotations. Off: only the algorithm, as"
        " in game engines",
        default=True,
        **NOT_KEYABLE,
    )
    use_limits: BoolProperty(
        name="Limits",
        description="Keep each bone within the limits of its joint in the list below. Bones"
        " without a joint use their own IK locks, limits and stiffness",
        default=True,
        **NOT_KEYABLE,
    )
    joints: CollectionProperty(
        name="Joints",
        description="Joints of single bones in this chain, used instead of the IK settings of"
        " these bones",
        type=JointSettings,
        override=EXTENSIBLE,
    )
    active_joint_index: IntProperty(
        name="Active Joint",
        description="Position of the active joint in the list of joints; 0: the first",
        options=set(),
        override=OVERRIDABLE,
    )
    weight: FloatProperty(
        name="Weight",
        translation_context=LABEL_CONTEXT,
        description="Importance of this target if chains that share bones cannot all reach their"
        " targets, from 0 to 1",
        **SHARE,
        **KEYABLE,
    )
    priority: IntProperty(
        name="Priority",
        translation_context=LABEL_CONTEXT,
        description="Order of the targets in a whole body: 1 is reached before 2, and 2 before 3."
        " Targets of the same priority share the error by their weights; no unit",
        default=2,
        min=1,
        max=9,
        **KEYABLE,
    )
    use_pin: BoolProperty(
        name="Pin",
        translation_context=LABEL_CONTEXT,
        description="Reach this target before all targets that are not pinned, in a whole body."
        " Pinned feet stay in place when other targets pull the body",
        **KEYABLE,
    )
    pull: FloatProperty(
        name="Pull",
        translation_context=LABEL_CONTEXT,
        description="Amount by which a whole body follows this limb if the limb alone cannot reach"
        " its target. 0: not at all",
        **SHARE,
        **KEYABLE,
    )
    soft_distance: FloatProperty(
        name="Soft Distance",
        description="Distance from full reach at which the chain begins to straighten more slowly,"
        " so that knees do not pop. The chain then stops short of the target. In scene units. 0:"
        " off",
        min=0.0,
        soft_max=1.0,
        subtype="DISTANCE",
        **KEYABLE,
    )
    use_stretch: BoolProperty(
        name="Stretch",
        description="Let bones grow if the target is out of reach. Only bones with an IK Stretch"
        " above 0 grow (Properties, tab Bone, Inverse Kinematics)",
        **NOT_KEYABLE | {"update": change_stretch},
    )
    use_keep_volume: BoolProperty(
        name="Keep Volume", description="Make bones thinner as they grow", **NOT_KEYABLE
    )
    follow_lead: EnumProperty(
        name="Lead",
        description="End of the chain that goes to the target and drags the other bones along",
        translation_context=LABEL_CONTEXT,
        items=LEADS,
        default="TIP",
        **NOT_KEYABLE,
    )
    use_anchor: BoolProperty(
        name="Anchor",
        description="Keep the other end of the chain in place. Off: the target drags the whole"
        " chain along",
        **NOT_KEYABLE,
    )
    max_bend: FloatProperty(
        name="Max Bend",
        description="Largest angle between a bone and the next one, in degrees; 180: no limit. Not"
        " used if joints have limits",
        default=pi,
        min=0.0,
        max=pi,
        subtype="ANGLE",
        **KEYABLE,
    )
    start_from: EnumProperty(
        name="Start From",
        description="The pose that each update starts from. If there are several solutions, the"
        " chain takes the nearest one",
        items=STARTS,
        default="KEYED",
        **NOT_KEYABLE,
    )
    planted: EnumProperty(
        name="Planted",
        description="Part of the foot or hand that stands on the floor at this frame. Plant Feet"
        " finds it and holds it in place. If this setting has keys, Plant Feet follows them",
        translation_context=LABEL_CONTEXT,
        items=PLANTED,
        default="NONE",
        **KEYABLE,
    )
    force: PointerProperty(
        name="Force",
        description="Stiffness and weight of the bones, for the solver Force",
        type=ForceSettings,
        override=OVERRIDABLE,
    )
    # One string: Blender copies every property of an object whenever a pose is evaluated, and a
    # collection of bones with their numbers would cost more than solving them.
    stored_pose: StringProperty(
        name="Stored Pose",
        description="Values of the bones' channels before the chain first changed them, as JSON",
        **NOT_SHOWN,
    )
    status: StringProperty(
        name="Status",
        description="Result of the last update. If the target is not reached: the reason, and what"
        " to do",
        get=status,
    )
    residual: FloatProperty(
        name="Residual",
        subtype="DISTANCE",
        description="Remaining distance to the target, in scene units; -1 if the chain was not"
        " solved",
        get=residual,
        precision=6,
    )

    @property
    def message(self) -> Message:
        """The status, for people; the property of Blender holds only its English text."""
        return status(self)


def like_setting(name: str, description: str, **others: Any) -> Any:
    """Return a property with the label, the default and the range of a setting of chains.

    ``others`` are other keywords that differ from those of the setting.
    """
    setting = get_type_hints(ChainSettings)[name]
    plain: dict[str, Any] = {"options": set(), "override": set(), "update": None}
    return setting.function(**setting.keywords | plain | {"description": description} | others)
