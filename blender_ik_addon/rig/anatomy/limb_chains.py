"""The chains that limbs get: one table of presets."""

from __future__ import annotations

from dataclasses import dataclass

from ..reading.spec import ChainSpec, RotationBone
from .limbs import Limb, LimbKind


@dataclass(frozen=True, slots=True)
class Preset:
    """What a chain is given beside its bones and its target.

    Attributes:
        use_pole: It bends to a pole.
        turns_tip: Its last bone takes the target's rotation where no bone is connected to it that
            could, and at least two others are left to reach.
        word: For people, what it does.
    """

    use_pole: bool = False
    turns_tip: bool = False
    word: str = ""


PRESETS = {
    LimbKind.ARM: Preset(
        use_pole=True, word="Two bones; the hand takes the target's rotation; a pole"
    ),
    LimbKind.LEG: Preset(
        use_pole=True, word="Two bones or three; the foot takes the target's rotation; a pole"
    ),
    LimbKind.SPIDER_LEG: Preset(use_pole=True, word="Three bones or more to the ground; a pole"),
    LimbKind.FINGER: Preset(word="The bones of a finger to its tip"),
    LimbKind.SPINE: Preset(
        turns_tip=True, word="From the hips to the chest, which takes the target's rotation"
    ),
    LimbKind.NECK: Preset(word="From the chest to the head, which takes the target's rotation"),
    LimbKind.TAIL: Preset(word="All bones of the tail to its tip"),
    LimbKind.WING: Preset(word="All bones of a wing or fin to its tip"),
}


def chain_of(limb: Limb) -> ChainSpec:
    """Return the chain of a limb; its controls are still to be made."""
    turns_tip = PRESETS[limb.kind].turns_tip and not limb.end and len(limb.bones) > 2
    return ChainSpec(
        name=limb.name,
        bone=limb.bones[-1],
        chain_count=len(limb.bones),
        use_rotation=bool(limb.end) or turns_tip,
        rotation_bone=RotationBone.AUTO if limb.end else RotationBone.TIP,
    )
