"""The settings of chains as Blender stores and shows them."""

from __future__ import annotations

from contextlib import suppress
from math import pi

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
from ..rig.live import live
from ..rig.reading.anchors import shown_everywhere
from .chains import EXTENSIBLE, LONGEST_NAME, OVERRIDABLE, owner_of, tag
from .forces import ForceSettings
from .joints import JointSettings
from .records import sync_anchors
from .shown import ShownSettings
from .status import residual, status
from .stored import release, release_scale

SOLVERS = (
    ("TWO_BONE", "Two-Bone", "Exact closed form for two bones, such as arms and legs"),
    ("FABRIK", "FABRIK", "Sweeps inward and outward, as most game engines do"),
    ("CCD", "CCD", "Turns one joint after another toward the target, tip first"),
    ("NEWTON", "Newton", "Bends all joints at once, as little as it takes: exact and quick"),
    ("FORCE", "Force", "A pull turns every joint; springs and weight spread the bend"),
    (
        "FOLLOW",
        "Follow",
        "Drags the free chain behind its tip or root, as a rope; goes on from its last pose",
    ),
)
NEGATIVE_SCALES = (
    ("MIRROR", "Mirror", "A limb mirrored by negative scale bends as its mirror image"),
    ("KEEP", "Keep", "The bend side stays as in the unmirrored limb, seen in world space"),
)
LEADS = (
    ("TIP", "Tip", "The tip goes to the target and drags the chain"),
    ("ROOT", "Root", "The root goes to the target and drags the chain"),
)
ROTATION_BONES = (
    ("TIP", "Tip", "The tip bone, which then does not bend: the bones before it reach"),
    (
        "AUTO",
        "Hand or Foot",
        "The one bone at the tip's tail, if there is one: all bones of the chain reach",
    ),
)
STARTS = (
    ("KEYED", "Keyed", "Start from the bones' keyframes at this frame, else the stored pose"),
    ("REST", "Rest", "Start from the rest pose"),
    ("CURRENT", "Current", "Start from what stands there now; the result depends on history"),
)


def _retarget(settings: ChainSettings, context: bpy.types.Context) -> None:
    sync_anchors(owner_of(settings), shown_everywhere())
    tag(settings, context)


def _rechain(settings: ChainSettings, context: bpy.types.Context) -> None:
    """Give the former bones their pose back before the chain takes others."""
    # What cannot be given back stays stored, and the status says so.
    with suppress(IKError):
        release(settings)
    _retarget(settings, context)


def _restretch(settings: ChainSettings, context: bpy.types.Context) -> None:
    """Give the bones their scale back where they are to stretch no longer."""
    if not settings.use_stretch:
        with suppress(IKError):
            release_scale(settings)
    tag(settings, context)


def _toggle_live(settings: SceneSettings, _context: bpy.types.Context) -> None:
    for owner in settings.id_data.objects:
        if owner.type == "ARMATURE" and owner.chain_ik.chains:
            owner.update_tag()


class ChainSettings(bpy.types.PropertyGroup):
    """The settings of one chain; names follow Blender's IK constraint."""

    name: StringProperty(name="Name", default="Chain", override=OVERRIDABLE, update=tag)
    mute: BoolProperty(
        name="Mute",
        description="Leave the bones alone and give them their stored pose back",
        override=OVERRIDABLE,
        update=tag,
    )
    influence: FloatProperty(
        name="Influence",
        description="From the bones' own pose (0) to the solution (1)",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        override=OVERRIDABLE,
        update=tag,
    )
    bone: StringProperty(
        name="Tip Bone",
        description="The bone at the end of the chain",
        maxlen=LONGEST_NAME,
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="Number of bones in the chain, counted from the tip; 0 for all up to the root",
        default=0,
        min=0,
        max=300,
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    solver: EnumProperty(
        name="Solver",
        description="The algorithm",
        items=SOLVERS,
        default="NEWTON",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    target: PointerProperty(
        name="Target",
        description="The object to follow",
        type=bpy.types.Object,
        options=set(),
        override=OVERRIDABLE,
        update=_retarget,
    )
    subtarget: StringProperty(
        name="Target Bone",
        description="The bone to follow where the target is an armature",
        maxlen=LONGEST_NAME,
        options=set(),
        override=OVERRIDABLE,
        update=_retarget,
    )
    pole_target: PointerProperty(
        name="Pole",
        description="The object to bend toward",
        type=bpy.types.Object,
        options=set(),
        override=OVERRIDABLE,
        update=_retarget,
    )
    pole_subtarget: StringProperty(
        name="Pole Bone",
        description="The bone to bend toward where the pole is an armature",
        maxlen=LONGEST_NAME,
        options=set(),
        override=OVERRIDABLE,
        update=_retarget,
    )
    pole_angle: FloatProperty(
        name="Pole Angle",
        description="Turn of the bend away from the pole, about the line from root to target",
        subtype="ANGLE",
        soft_min=-3.141593,
        soft_max=3.141593,
        override=OVERRIDABLE,
        update=tag,
    )
    use_flip_bend: BoolProperty(
        name="Flip Bend",
        description="Bend to the other side",
        override=OVERRIDABLE,
        update=tag,
    )
    negative_scale: EnumProperty(
        name="Negative Scale",
        description="How the limb bends where its object is mirrored by negative scale",
        items=NEGATIVE_SCALES,
        default="MIRROR",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    use_tail: BoolProperty(
        name="Use Tail",
        description="Bring the tip bone's tail to the target, else its head",
        default=True,
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    use_rotation: BoolProperty(
        name="Rotation",
        description="Give the rotation bone the target's rotation",
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    rotation_bone: EnumProperty(
        name="Rotation Bone",
        description="The bone that takes the target's rotation",
        items=ROTATION_BONES,
        default="TIP",
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    orient_weight: FloatProperty(
        name="Weight",
        description="How much of the target's rotation the rotation bone takes",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        override=OVERRIDABLE,
        update=tag,
    )
    iterations: IntProperty(
        name="Iterations",
        description="Maximum number of iterations",
        default=500,
        min=1,
        soft_max=500,
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="Accepted distance between effector and target",
        default=1e-5,
        min=0.0,
        soft_max=0.1,
        precision=6,
        subtype="DISTANCE",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    use_finish: BoolProperty(
        name="Finish with Newton",
        description="After 8 sweeps of FABRIK or CCD Newton finishes, and brings limited chains to"
        " their poles and tip rotations. Off: the bare algorithm, as a game engine runs it",
        default=True,
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    use_limits: BoolProperty(
        name="Limits",
        description="Use the joints below. Bones without a joint use their own IK locks, limits and"
        " stiffness",
        default=True,
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    joints: CollectionProperty(type=JointSettings, override=EXTENSIBLE)
    active_joint_index: IntProperty(name="Active Joint", options=set(), override=OVERRIDABLE)
    weight: FloatProperty(
        name="Weight",
        description="How much this target counts where chains that share bones cannot all reach"
        " theirs",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        override=OVERRIDABLE,
        update=tag,
    )
    soft_distance: FloatProperty(
        name="Soft Distance",
        description="Distance before full reach at which the chain starts to straighten more"
        " slowly, so that knees do not pop. The chain then stops short of the target",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        subtype="DISTANCE",
        override=OVERRIDABLE,
        update=tag,
    )
    use_stretch: BoolProperty(
        name="Stretch",
        description="Have bones with an IK Stretch above zero grow along themselves to a target"
        " that is out of reach",
        options=set(),
        override=OVERRIDABLE,
        update=_restretch,
    )
    use_keep_volume: BoolProperty(
        name="Keep Volume",
        description="Bones get thinner as they grow",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    follow_lead: EnumProperty(
        name="Lead",
        description="Which end of a chain that follows goes to the target",
        items=LEADS,
        default="TIP",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    use_anchor: BoolProperty(
        name="Anchor",
        description="Keep the other end of the chain in place",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    max_bend: FloatProperty(
        name="Max Bend",
        description="Largest angle between neighbouring bones; 180 degrees for no limit. Not used"
        " where joint limits hold",
        default=pi,
        min=0.0,
        max=pi,
        subtype="ANGLE",
        override=OVERRIDABLE,
        update=tag,
    )
    start_from: EnumProperty(
        name="Start From",
        description="The pose that every solve starts from",
        items=STARTS,
        default="KEYED",
        options=set(),
        override=OVERRIDABLE,
        update=tag,
    )
    force: PointerProperty(type=ForceSettings, override=OVERRIDABLE)
    # One string: Blender copies every property of an object whenever a pose is evaluated, and a
    # collection of bones with their numbers would cost more than solving them.
    stored_pose: StringProperty(
        name="Stored Pose",
        description="What the bones' channels held before the chain first wrote, as JSON",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    status: StringProperty(name="Status", description="What the last solve did", get=status)
    residual: FloatProperty(
        name="Residual",
        description="Distance left between effector and target; -1 without a solve",
        get=residual,
        precision=6,
    )


class ObjectSettings(bpy.types.PropertyGroup):
    """The chains of an armature object."""

    chains: CollectionProperty(type=ChainSettings, override=EXTENSIBLE)
    active_index: IntProperty(name="Active Chain", options=set(), override=OVERRIDABLE)
    is_control: BoolProperty(
        name="Control",
        description="A chain has made this object; it may go with the chain",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )
    format: IntProperty(
        name="Format",
        description="Which version of Chain IK has saved these settings; 0 before the first save",
        options={"HIDDEN"},
        override=OVERRIDABLE,
    )


class SceneSettings(bpy.types.PropertyGroup):
    """Settings of the scene."""

    use_live: BoolProperty(
        name="Live",
        description="Solve chains whenever their targets move, on playback and in renders",
        default=True,
        options=set(),
        update=_toggle_live,
    )
    overlay: PointerProperty(type=ShownSettings)


classes = (
    *(JointSettings, ForceSettings, ChainSettings, ObjectSettings),
    *(ShownSettings, SceneSettings),
)
_register_classes, _unregister_classes = bpy.utils.register_classes_factory(classes)


def register() -> None:
    """Register the settings and hang them on objects and scenes."""
    _register_classes()
    bpy.types.Object.chain_ik = PointerProperty(type=ObjectSettings, override=OVERRIDABLE)
    bpy.types.Scene.chain_ik = PointerProperty(type=SceneSettings)


def unregister() -> None:
    """Remove what ``register`` added."""
    del bpy.types.Scene.chain_ik
    del bpy.types.Object.chain_ik
    _unregister_classes()
    live.memory.clear()
