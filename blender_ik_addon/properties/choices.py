"""The choices of a chain's settings, and the settings that each solver uses."""

from __future__ import annotations

from typing import Any

from ..core import Solver
from ..rig.reading.spec import CARRIED_ONLY
from .chains import ChainGroup, body_of, owner_of

LABEL_CONTEXT = "Chain IK"
"""Context of labels that Blender itself translates in another sense: Lead as the metal."""
SOLVERS = (
    ("TWO_BONE", "Two-Bone", "Exact formula for two bones, for example for arms and legs"),
    (
        "FABRIK",
        "FABRIK",
        "Places the joints one by one, alternately from the tip and from the root. Game engines"
        " use it",
    ),
    (
        "CCD",
        "CCD",
        "Turns one joint after another toward the target, from the tip to the root. Game engines"
        " use it",
    ),
    (
        "NEWTON",
        "Newton",
        "Bends all joints at once and changes the pose little. Exact and quick, for all chains",
    ),
    (
        "FORCE",
        "Force",
        "Pulls the chain to the target. Springs and weight spread the bend, for example in necks"
        " and snakes",
    ),
    (
        "FOLLOW",
        "Follow",
        "Drags the bones behind their tip or root like a rope. Continues from the last pose",
    ),
)
NEGATIVE_SCALES = (
    ("MIRROR", "Mirror Bend", "The mirrored limb bends as the mirror image of the other one"),
    (
        "KEEP",
        "Keep Bend",
        "The mirrored limb bends to the same side as the other one, in world space",
    ),
)
LEADS = (
    ("TIP", "Tip", "The tail of the tip bone goes to the target"),
    ("ROOT", "Root", "The head of the first bone goes to the target"),
)
ROTATION_BONES = (
    (
        "TIP",
        "Tip Bone",
        "The tip bone. It does not bend then; the bones before it reach for the target",
    ),
    (
        "AUTO",
        "Hand or Foot",
        "The only bone that begins at the end of the tip bone. All bones of the chain then reach"
        " for the target. If there is no such bone, chains of three or more bones turn the tip"
        " bone",
    ),
)
# Keyframes in files store these numbers.
PLANTED = (
    ("NONE", "None", "The foot or hand moves freely", 0),
    ("HEEL", "Heel", "Only the heel stands on the floor. The foot turns about it", 1),
    ("TOE", "Toe", "Only the toe stands on the floor. The foot turns about it", 2),
    ("FOOT", "Foot", "The whole foot or hand stands on the floor", 3),
)
STARTS = (
    (
        "KEYED",
        "Keyed",
        "The bones' keyframes at this frame. Bones without keys use the pose stored when the chain"
        " began",
    ),
    ("REST", "Rest", "The rest pose of the armature"),
    (
        "CURRENT",
        "Current",
        "The present pose of the bones. The result then depends on the frames played before",
    ),
)

POLE_MODES = (
    (
        "TARGET",
        "Toward Pole",
        "Bend toward the pole. Without a pole, bend like the pose that the chain starts from",
    ),
    (
        "FOLLOW",
        "With Body",
        "Bend like the rest pose. The side of the bend moves with the parent bone of the chain. If"
        " the target turns a hand or foot, the side also takes half of that turn",
    ),
)

TOLERANCE: dict[str, Any] = {"default": 1e-5, "min": 0.0, "precision": 6, "subtype": "DISTANCE"}
"""Keywords of properties that hold an accepted distance to a target; in scene units."""

NEW_CHAIN_SETTINGS = ("start_from", "use_limits", "tolerance", "iterations")
"""Settings that new chains take from the preferences."""
CHAIN_SPECIFIC_SETTINGS = frozenset(
    (
        *("rna_type", "name", "bone", "target", "subtarget", "pole_target", "pole_subtarget"),
        *("space", "pole_space", "mute", "joints", "active_joint_index"),
        *("stored_pose", "status", "residual"),
    )
)
"""Settings that identify a chain or hold its state. They are never copied to other chains."""

USED_BY = {
    "follow_lead": ("FOLLOW",),
    "use_anchor": ("FOLLOW",),
    "max_bend": ("FOLLOW",),
    "force": ("FORCE",),
    "use_finish": ("FABRIK", "CCD"),
    "iterations": ("FABRIK", "CCD", "NEWTON", "FORCE"),
    "tolerance": ("FABRIK", "CCD", "NEWTON", "FORCE"),
    "use_limits": tuple(solver for solver, *_ in SOLVERS),
}
"""Solvers that use a setting. All solvers except Follow use the settings that are not here."""


def uses(settings: ChainGroup, name: str) -> bool:
    """Tell whether the solver of a chain uses one of its settings."""
    solver = settings.solver
    return solver in USED_BY[name] if name in USED_BY else solver != "FOLLOW"


def can_move_body(settings: ChainGroup) -> bool:
    """Tell whether the target of a chain can move the body of its object."""
    return body_of(owner_of(settings)) is not None and Solver(settings.solver) not in CARRIED_ONLY
