"""Settings of armature objects and of scenes, and their registration on Blender's types."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..rig.live import live
from .chains import EXTENSIBLE, KEYABLE, MAX_NAME_BYTES, NOT_KEYABLE, NOT_SHOWN, OVERRIDABLE, SHARE
from .controls.bodies import change_body, change_root
from .settings import ChainSettings


def _switch(name: str, description: str) -> Any:
    return BoolProperty(name=name, description=description, default=True, options=set())


class ShownSettings(bpy.types.PropertyGroup):
    """Which parts of chains are drawn."""

    show_overlay: _switch("Chain IK", "Draw chains in the viewport")
    show_chains: _switch(
        "Chains",
        "Draw every chain as a line. Green: it is at its target, or its soft distance keeps it"
        " short. Amber: limits hold it back, or its bones stretch. Red: the target is out of reach",
    )
    show_joints: _switch("Joints", "Draw a dot at every joint of every chain")
    show_reach: _switch(
        "Reach",
        "Draw the space that the active chain can reach, and the space that is too near for it",
    )
    show_target_lines: _switch(
        "Target Lines",
        "Draw a dashed line from the root of every chain to its target",
    )
    show_poles: _switch(
        "Pole",
        "Draw the plane that the active chain bends in, and a line to its pole",
    )
    show_limits: _switch(
        "Limits",
        "Draw the limits of each joint of the active chain, and its present angle",
    )
    show_contacts: _switch(
        "Contacts",
        "Draw the places where feet and hands stand at this frame, by the setting Planted. Heels"
        " have the color of poles, toes the color of limited chains, whole feet the color of"
        " chains at their target. A ring shows a pin of a whole body",
    )
    show_text: _switch(
        "Distances",
        "Show the remaining distance to a target, in the unit of the scene",
    )


def _toggle_live(settings: SceneSettings, _context: bpy.types.Context) -> None:
    for owner in settings.id_data.objects:
        if owner.type == "ARMATURE" and owner.chain_ik.chains:
            owner.update_tag()


class SceneSettings(bpy.types.PropertyGroup):
    """Settings of the scene."""

    use_live: BoolProperty(
        name="Live",
        description="Make chains follow their targets when you move them, during playback and in"
        " renders. Off: the chains stand still",
        default=True,
        options=set(),
        update=_toggle_live,
    )
    overlay: PointerProperty(
        name="Overlay", description="Parts of chains that the viewport shows", type=ShownSettings
    )


class BodySettings(bpy.types.PropertyGroup):
    """The body whose limbs are the chains of an armature object."""

    use_body: BoolProperty(
        name="Whole Body",
        description="Solve the chains below the root as one body. If a limb cannot reach its"
        " target, the body moves too. Pinned limbs stay in place",
        **NOT_KEYABLE | {"update": change_body},
    )
    root: StringProperty(
        name="Root",
        description="The hip bone, which carries all limbs. Set Up Limbs finds it. Empty: no body",
        maxlen=MAX_NAME_BYTES,
        **NOT_KEYABLE | {"update": change_root},
    )
    held_root: StringProperty(
        name="Held Root",
        description="The root whose spaces the body has muted",
        maxlen=MAX_NAME_BYTES,
        **NOT_SHOWN,
    )
    influence: FloatProperty(
        name="Influence",
        description="Amount by which the body moves with its limbs. 0: each limb is solved alone",
        **SHARE,
        **KEYABLE,
    )
    floor: PointerProperty(
        name="Floor",
        description="The object whose X and Y axes define the floor. Plant Feet puts feet on it,"
        " and a whole body stays above it. Empty: feet keep their height from the clip, and bodies"
        " have no floor",
        type=bpy.types.Object,
        poll=lambda settings, chosen: chosen != settings.id_data,
        **NOT_KEYABLE,
    )


class ObjectSettings(bpy.types.PropertyGroup):
    """The chains of an armature object."""

    chains: CollectionProperty(
        name="Chains",
        description="The chains of this armature",
        type=ChainSettings,
        override=EXTENSIBLE,
    )
    body: PointerProperty(
        name="Body",
        description="Body that the limbs of the armature belong to",
        type=BodySettings,
        override=OVERRIDABLE,
    )
    active_index: IntProperty(
        name="Active Chain",
        description="Position of the active chain in the list of chains; 0: the first",
        options=set(),
        override=OVERRIDABLE,
    )
    is_control: BoolProperty(
        name="Control",
        description="A chain has created this object, which may be deleted with the chain",
        **NOT_SHOWN,
    )
    filled_paths: StringProperty(
        name="Filled Paths",
        description="Fingerprints of the motion paths that Update Motion Paths has filled",
        **NOT_SHOWN,
    )
    format: IntProperty(
        name="Format",
        description="Version of these settings in the file; 0: not saved yet",
        **NOT_SHOWN,
    )
    seen_bones: StringProperty(
        name="Seen Bones",
        description="Record of bone names and rest poses (JSON), used to follow renamed bones",
        **NOT_SHOWN,
    )
    seen_chains: StringProperty(
        name="Seen Chains",
        description="Record of the chains of an override (JSON), used to keep keys with them when"
        " the library changes",
        **NOT_SHOWN,
    )
    seen_poses: StringProperty(
        name="Seen Poses",
        description="Record of the stored poses of an override (JSON), used to give bones back when"
        " the library does",
        **NOT_SHOWN,
    )


def register() -> None:
    """Add the settings to the types of objects and scenes."""
    bpy.types.Object.chain_ik = PointerProperty(type=ObjectSettings, override=OVERRIDABLE)
    bpy.types.Scene.chain_ik = PointerProperty(type=SceneSettings)


def unregister() -> None:
    """Remove what ``register`` added."""
    del bpy.types.Scene.chain_ik
    del bpy.types.Object.chain_ik
    live.memory.clear()
