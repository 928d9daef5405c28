"""The chains of limbs: one table of presets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..reading.spec import ChainSpec, PoleMode, RotationBone
from .joint_presets import JointPreset
from .limbs import Limb, LimbKind


@dataclass(frozen=True, slots=True)
class LimbPreset:
    """The settings of a limb's chain, except its bones and its target.

    Attributes:
        lean: Degrees, ``ChainSpec.pole_lean``, of a chain that carries its side; None if the limb
            has no side of its own.
        turns_tip: Whether its last bone takes the target's rotation if no connected bone could, and
            at least two other bones are left to reach.
        word: Description for people.
        joint: Anatomical joint: of its second bone for a knee or elbow, otherwise of all bones.
        is_soft: Whether it straightens slowly, so that its knee or elbow does not snap.
    """

    lean: float | None = None
    turns_tip: bool = False
    word: str = ""
    joint: JointPreset | None = None
    is_soft: bool = False


LIMB_PRESETS = {
    LimbKind.ARM: LimbPreset(
        lean=-60.0,
        word="Two bones; the hand takes the target's rotation, and the elbow follows by itself",
        joint=JointPreset.ELBOW,
        is_soft=True,
    ),
    LimbKind.LEG: LimbPreset(
        lean=0.0,
        word="Two or three bones; the foot takes the target's rotation, and the knee follows by"
        " itself",
        joint=JointPreset.KNEE,
        is_soft=True,
    ),
    LimbKind.SPIDER_LEG: LimbPreset(
        lean=0.0,
        word="All bones of the leg down to the ground; the knee follows by itself",
        is_soft=True,
    ),
    LimbKind.FINGER: LimbPreset(word="The bones of a finger to its tip", joint=JointPreset.FINGER),
    LimbKind.SPINE: LimbPreset(
        turns_tip=True, word="Bones from the hips to the chest, which takes the target's rotation"
    ),
    LimbKind.NECK: LimbPreset(
        word="Bones from the chest to the head, which takes the target's rotation",
        joint=JointPreset.NECK,
    ),
    LimbKind.TAIL: LimbPreset(word="All bones of the tail to its tip", joint=JointPreset.TAIL),
    LimbKind.WING: LimbPreset(word="All bones of a wing or fin to its tip"),
}


def chain_of(limb: Limb) -> ChainSpec:
    """Return the chain of a limb, without its controls."""
    turns_tip = LIMB_PRESETS[limb.kind].turns_tip and not limb.end and len(limb.bones) > 2
    lean = LIMB_PRESETS[limb.kind].lean
    if lean is not None and limb.is_laid_out:
        # In a standing pose, legs are about opposite to such a rest pose, and arms across it.
        lean = 180.0 if limb.kind is LimbKind.LEG else 0.0
    is_by_head = limb.is_by_head
    return ChainSpec(
        name=limb.name,
        bone=limb.end if is_by_head and limb.end else limb.bones[-1],
        chain_count=len(limb.bones) - (is_by_head and not limb.end),
        use_tail=not is_by_head,
        use_rotation=bool(limb.end) or turns_tip,
        rotation_bone=RotationBone.AUTO if limb.end and not is_by_head else RotationBone.TIP,
        pole_mode=PoleMode.TARGET if lean is None else PoleMode.FOLLOW,
        pole_lean=math.radians(lean or 0.0),
    )


def joints_of(limb: Limb) -> dict[str, JointPreset]:
    """Return the anatomical joints of a limb, by names of bones."""
    joint = LIMB_PRESETS[limb.kind].joint
    if joint is None or limb.is_sideways:
        # Hinges turn about axes of bones: those of sideways bones have no meaning.
        return {}
    if joint in (JointPreset.KNEE, JointPreset.ELBOW):
        return {limb.bones[1]: joint}
    return {bone: joint for bone in (*limb.bones, limb.end) if bone}
