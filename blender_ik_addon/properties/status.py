"""What chains have to say, read whenever it is shown."""

from __future__ import annotations

import bpy

from ..core import Status
from ..rig.live import live
from ..rig.planning.stored_text import bones_of_text
from ..rig.posing.outcome import Outcome
from ..rig.reading.refusals import RigError
from ..rig.tools.lengths import length_in_words, length_unit
from ..rig.tools.wording import outcome_in_words
from .chains import ChainGroup, chain_key, chains_of, is_idle, owner_of
from .records import idle_joints


def status(settings: ChainGroup) -> str:
    """Return what the last solve of a chain did, in words, or why there was none."""
    return status_with(settings, live.memory.outcome(chain_key(settings)))


def status_with(settings: ChainGroup, outcome: Outcome | str | None) -> str:
    """Return the same for an outcome that is known."""
    if is_idle(settings):
        return _idle(settings)
    scene = bpy.context.scene
    if scene is not None and not scene.chain_ik.use_live:
        return "Live is off"
    reason = _why_not_posed(owner_of(settings))
    if reason:
        return f"Not solved: {reason}"
    if outcome is None:
        return "Not solved yet: move the target, or change the frame"
    if isinstance(outcome, str):
        return outcome
    text = outcome_in_words(outcome, length_unit(scene))
    if outcome.put_back and scene is not None and scene.tool_settings.use_keyframe_insert_auto:
        text += ". Auto Keying has keyed it: delete that key"
    idle = idle_joints(settings)
    if idle:
        text += f"; joints of bones that are not in the chain have no effect: {', '.join(idle)}"
    return text


def _idle(settings: ChainGroup) -> str:
    """Return why a chain leaves its bones alone, or could not give their stored pose back."""
    try:
        bones_of_text(settings.stored_pose)
    except RigError as error:
        return str(error)
    return "Muted" if settings.mute else "Influence is zero: the bones are free to be posed"


def _why_not_posed(owner: bpy.types.Object) -> str:
    """Return why the chains of an object are not solved, in words; empty if nothing is wrong."""
    if owner.type != "ARMATURE":
        return "this object is not an armature, so remove the chain"
    if owner.data.is_editmode:
        return "the armature is in edit mode"
    if owner.data.pose_position == "REST":
        return "the armature shows its rest position"
    view_layer = bpy.context.view_layer
    graph = None if view_layer is None else view_layer.depsgraph
    if graph is None or owner.evaluated_get(graph).is_evaluated or owner.visible_get():
        # What the eye hides is evaluated; what is new is not, until the next update.
        return ""
    return "the armature is hidden, or not in this view layer"


def residual(settings: ChainGroup) -> float:
    """Return what the last solve of a chain left to its target; -1 if it does not show."""
    outcome = _outcome_shown(settings)
    return -1.0 if outcome is None else outcome.residual


def _outcome_shown(settings: ChainGroup) -> Outcome | None:
    """Return what the last solve of a chain did; None if its bones are not where that left them."""
    if is_idle(settings) or _why_not_posed(owner_of(settings)):
        return None
    outcome = live.memory.outcome(chain_key(settings))
    return outcome if isinstance(outcome, Outcome) else None


def tree_of(settings: ChainGroup) -> list[ChainGroup]:
    """Return the other chains that a chain is one tree with, as it was solved last."""
    outcome = _outcome_shown(settings)
    if outcome is None:
        return []
    chains = chains_of(owner_of(settings))
    return [chains[index] for index in outcome.tree if index < len(chains)]


def tree_in_words(settings: ChainGroup) -> list[str]:
    """Return what is to be said of a chain's tree: with whom, and whose goals lost by how much."""
    others = tree_of(settings)
    if not others:
        return []
    unit = length_unit(bpy.context.scene)
    lines = [f"Solved together with {', '.join([other.name for other in others])}"]
    for chain in (settings, *others):
        outcome = live.memory.outcome(chain_key(chain))
        if isinstance(outcome, Outcome) and outcome.status is not Status.REACHED:
            lines.append(f"{chain.name}: {length_in_words(outcome.residual, unit)} off")
    return lines
