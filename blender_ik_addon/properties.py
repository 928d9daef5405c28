"""The settings of chains, and their one way into frozen records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .core import SolveOptions, Solver
from .rig import anchors, live, restoring
from .rig.errors import RigError
from .rig.render_sync import keep_animated_values
from .rig.spec import Anchor, ChainSpec, NegativeScale, StartFrom, StoredBone
from .rig.wording import outcome_in_words

OVERRIDABLE: set[Literal["LIBRARY_OVERRIDABLE"]] = {"LIBRARY_OVERRIDABLE"}
SOLVERS = (
    ("TWO_BONE", "Two-Bone", "Exact closed form for two bones, such as arms and legs"),
    ("FABRIK", "FABRIK", "Sweeps inward and outward, as most game engines do"),
    ("CCD", "CCD", "Turns one joint after another toward the target, tip first"),
    ("NEWTON", "Newton", "Bends all joints at once, as little as it takes: exact and quick"),
)
NEGATIVE_SCALES = (
    ("MIRROR", "Mirror", "A limb mirrored by negative scale bends as its mirror image"),
    ("KEEP", "Keep", "The bend side stays as in the unmirrored limb, seen in world space"),
)
STARTS = (
    ("KEYED", "Keyed", "Start from the bones' keyframes at this frame, else the stored pose"),
    ("REST", "Rest", "Start from the rest pose"),
    ("CURRENT", "Current", "Start from what stands there now; the result depends on history"),
)


def owner_of(settings: bpy.types.PropertyGroup) -> bpy.types.Object:
    """Return the object that settings hang on."""
    return cast(bpy.types.Object, settings.id_data)


def _tag(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Have Blender evaluate the rig, so that the handler sees the change."""
    owner_of(settings).update_tag()


def _retarget(settings: ChainSettings, context: bpy.types.Context) -> None:
    sync_anchors(owner_of(settings))
    _tag(settings, context)


def _rechain(settings: ChainSettings, context: bpy.types.Context) -> None:
    """Give the former bones their pose back before the chain takes others."""
    release(settings)
    _retarget(settings, context)


def _toggle_live(settings: SceneSettings, _context: bpy.types.Context) -> None:
    for owner in settings.id_data.objects:
        if owner.type == "ARMATURE" and owner.chain_ik.chains:
            owner.update_tag()


def _status(settings: ChainSettings) -> str:
    outcome = live.memory.outcomes.get(chain_key(settings))
    if settings.mute:
        return "Muted"
    scene = bpy.context.scene
    if scene is not None and not scene.chain_ik.use_live:
        return "Live is off"
    if outcome is None:
        return "Not solved yet: the armature is in edit mode, at rest or hidden"
    if isinstance(outcome, str):
        return outcome
    return outcome_in_words(outcome, scene.unit_settings.scale_length if scene else 1.0)


def _residual(settings: ChainSettings) -> float:
    outcome = live.memory.outcomes.get(chain_key(settings))
    return -1.0 if outcome is None or isinstance(outcome, str) else outcome.residual


class StoredBoneSettings(bpy.types.PropertyGroup):
    """The rotation channels of one bone before its chain first wrote."""

    name: StringProperty(name="Bone", override=OVERRIDABLE)
    rotation_mode: StringProperty(default="QUATERNION", override=OVERRIDABLE)
    rotation: FloatVectorProperty(size=4, override=OVERRIDABLE)


class ChainSettings(bpy.types.PropertyGroup):
    """The settings of one chain; names follow Blender's IK constraint."""

    name: StringProperty(name="Name", default="Chain", override=OVERRIDABLE, update=_tag)
    mute: BoolProperty(
        name="Mute",
        description="Let go of the bones and give them their stored pose back",
        override=OVERRIDABLE,
        update=_tag,
    )
    influence: FloatProperty(
        name="Influence",
        description="From the bones' own pose (0) to the solution (1)",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        override=OVERRIDABLE,
        update=_tag,
    )
    bone: StringProperty(
        name="Tip Bone",
        description="The bone at the end of the chain",
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones are driven, counted from the tip; 0 for all up to the root",
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
        update=_tag,
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
        update=_tag,
    )
    use_flip_bend: BoolProperty(
        name="Flip Bend",
        description="Bend to the other side",
        override=OVERRIDABLE,
        update=_tag,
    )
    negative_scale: EnumProperty(
        name="Negative Scale",
        description="How the limb bends where its object is mirrored by negative scale",
        items=NEGATIVE_SCALES,
        default="MIRROR",
        options=set(),
        override=OVERRIDABLE,
        update=_tag,
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
        description="Give the tip bone the target's rotation",
        options=set(),
        override=OVERRIDABLE,
        update=_rechain,
    )
    orient_weight: FloatProperty(
        name="Weight",
        description="How much of the target's rotation the tip bone takes",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        override=OVERRIDABLE,
        update=_tag,
    )
    iterations: IntProperty(
        name="Iterations",
        description="Cap on the sweeps of the iterative solvers",
        default=500,
        min=1,
        soft_max=500,
        options=set(),
        override=OVERRIDABLE,
        update=_tag,
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
        update=_tag,
    )
    start_from: EnumProperty(
        name="Start From",
        description="The pose that every solve starts from",
        items=STARTS,
        default="KEYED",
        options=set(),
        override=OVERRIDABLE,
        update=_tag,
    )
    stored_pose: CollectionProperty(
        type=StoredBoneSettings, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    status: StringProperty(name="Status", description="What the last solve did", get=_status)
    residual: FloatProperty(
        name="Residual",
        description="Distance left between effector and target; -1 without a solve",
        get=_residual,
        precision=6,
    )


class ObjectSettings(bpy.types.PropertyGroup):
    """The chains of an armature object."""

    chains: CollectionProperty(
        type=ChainSettings, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    active_index: IntProperty(name="Active Chain", options=set(), override=OVERRIDABLE)


class SceneSettings(bpy.types.PropertyGroup):
    """Settings of the scene."""

    use_live: BoolProperty(
        name="Live",
        description="Solve chains whenever their targets move, on playback and in renders",
        default=True,
        options=set(),
        update=_toggle_live,
    )


def chains_of(armature_object: bpy.types.Object) -> list[ChainSettings]:
    """Return the chains of an object; a fresh list of references, not to be kept."""
    return list(cast(ObjectSettings, armature_object.chain_ik).chains)


def active_chain(context: bpy.types.Context) -> ChainSettings | None:
    """Return the chain that the context is about, None without.

    That is the active one in the list of the active armature; while a target or pole is the
    active object, the chain that follows it, so that its status can be seen on the way.
    """
    active = context.active_object
    if active is None:
        return None
    if active.type == "ARMATURE":
        settings = cast(ObjectSettings, active.chain_ik)
        is_in_list = 0 <= settings.active_index < len(settings.chains)
        return settings.chains[settings.active_index] if is_in_list else None
    for candidate in context.view_layer.objects if context.view_layer else ():
        for chain in chains_of(candidate) if candidate.type == "ARMATURE" else ():
            if active in (chain.target, chain.pole_target):
                return chain
    return None


def chain_key(settings: ChainSettings) -> live.ChainKey:
    """Return what the live memory knows a chain by."""
    path = settings.path_from_id()
    return owner_of(settings).session_uid, int(path[path.rindex("[") + 1 : -1])


def chain_spec(settings: ChainSettings, animated: ChainSettings | None = None) -> ChainSpec:
    """Return the settings of a chain as a frozen record.

    Args:
        settings: The original ones.
        animated: The same chain of the evaluated object: what can be keyed is read there, because
            only the viewport's evaluation is copied back to the original.
    """
    animated = animated or settings
    return ChainSpec(
        name=settings.name,
        bone=settings.bone,
        chain_count=settings.chain_count,
        use_tail=settings.use_tail,
        use_rotation=settings.use_rotation,
        target=_anchor(settings.target, settings.subtarget),
        pole=_anchor(settings.pole_target, settings.pole_subtarget),
        pole_angle=animated.pole_angle,
        negative_scale=NegativeScale(settings.negative_scale),
        start_from=StartFrom(settings.start_from),
        stored_pose=tuple(
            StoredBone(bone.name, bone.rotation_mode, tuple(bone.rotation))
            for bone in settings.stored_pose
        ),
        options=SolveOptions(
            solver=Solver(settings.solver),
            iterations=settings.iterations,
            tolerance=settings.tolerance,
            influence=animated.influence,
            use_flip_bend=animated.use_flip_bend,
            orient_weight=animated.orient_weight,
        ),
    )


def _anchor(target: bpy.types.Object | None, bone: str) -> Anchor | None:
    return None if target is None else Anchor(target, bone)


def followed(armature_object: bpy.types.Object) -> list[tuple[str, Anchor]]:
    """Return tip bones and what their chains follow, targets and poles."""
    return [
        (settings.bone, anchor)
        for settings in chains_of(armature_object)
        for anchor in (
            _anchor(settings.target, settings.subtarget),
            _anchor(settings.pole_target, settings.pole_subtarget),
        )
        if anchor is not None
    ]


def sync_anchors(armature_object: bpy.types.Object) -> None:
    """Keep the targets and poles of all chains of an object evaluated, hidden or not."""
    anchors.keep_evaluated(armature_object, followed(armature_object))


def sync_anchors_if_changed(armature_object: bpy.types.Object) -> None:
    """Sync anchors after scripts have added or removed chains, or an object was deleted."""
    uid = armature_object.session_uid
    wanted = tuple(
        (bone, anchor.object.session_uid, anchor.bone) for bone, anchor in followed(armature_object)
    )
    if live.memory.followed.get(uid, ()) != wanted:
        sync_anchors(armature_object)
        live.memory.followed[uid] = wanted


def store(settings: ChainSettings, evaluated: bpy.types.Object | None = None) -> None:
    """Take the stored pose of a chain from what its bones' channels hold now.

    Args:
        settings: The original ones.
        evaluated: The evaluated object to read; by default the original.
    """
    owner = owner_of(settings)
    settings.stored_pose.clear()
    for stored in restoring.take(owner, evaluated or owner, chain_spec(settings)):
        bone = settings.stored_pose.add()
        bone.name = stored.name
        bone.rotation_mode = stored.rotation_mode
        bone.rotation = stored.rotation


def release(settings: ChainSettings) -> None:
    """Give the bones of a chain their stored pose back, and forget it."""
    if settings.stored_pose:
        scene = bpy.context.scene
        frame = scene.frame_current_final if scene is not None else 0.0
        restoring.give_back(owner_of(settings), chain_spec(settings), frame)
        settings.stored_pose.clear()


def is_off_its_keys(settings: ChainSettings) -> bool:
    """Return whether a chain's bones stand elsewhere than their keyframes put them."""
    scene = bpy.context.scene
    frame = scene.frame_current_final if scene is not None else 0.0
    return restoring.is_off_its_keys(owner_of(settings), chain_spec(settings), frame)


def check_free(armature_object: bpy.types.Object, spec: ChainSpec) -> None:
    """Raise if a live chain drives bones of another one, whose pose would not stay.

    Raises:
        RigError: With the name of the live chain.
    """
    wanted = restoring.driven_bones(armature_object, spec)
    for settings in chains_of(armature_object):
        shared = wanted & restoring.driven_bones(armature_object, chain_spec(settings))
        if shared and not settings.mute:
            raise RigError(
                f"Bone '{min(shared)}' is driven by the live chain '{settings.name}':"
                " mute that chain, or move its target."
            )


def live_chains(
    armature_object: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Iterator[tuple[int, ChainSpec]]:
    """Yield index and settings of the chains to solve; store poses and release muted chains."""
    is_ours = armature_object.is_editable
    evaluated = armature_object.evaluated_get(depsgraph)
    animated = chains_of(evaluated)
    has_kept = False
    for index, settings in enumerate(chains_of(armature_object)):
        # A chain that is newer than the evaluation has no animation either.
        values = animated[index] if index < len(animated) else settings
        if not values.mute:
            if not settings.stored_pose and is_ours:
                store(settings, evaluated)
            yield index, chain_spec(settings, values)
        elif settings.stored_pose and is_ours:
            if depsgraph.mode == "RENDER" and not has_kept:
                keep_animated_values(armature_object, evaluated)
                has_kept = True
            release(settings)


classes = (StoredBoneSettings, ChainSettings, ObjectSettings, SceneSettings)
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
