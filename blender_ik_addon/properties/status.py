"""State and status text of chains, computed whenever they are shown."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import suppress

import bpy

from ..core import IKError, Status
from ..core.model.message import Message, joined
from ..events import has_lost_handlers
from ..rig.batches.solve_results import SolveSummary
from ..rig.controls.foot_roll import has_lost_control
from ..rig.keying.baking import is_animated, may_pose
from ..rig.keying.motion_paths import are_outdated, unfilled
from ..rig.live import live
from ..rig.planning.stored_text import bones_of_text
from ..rig.posing.outcome import Outcome, gap_after_constraints
from ..rig.reading.animation import rotation_keys
from ..rig.reading.bone_joints import has_joint
from ..rig.reading.chain_plan import ChainPlan, shown_joints
from ..rig.reading.refusals import RigError, is_hidden, listed
from ..rig.reading.update import GraphKey, shown_graph
from ..rig.tools.lengths import length_in_words, length_unit
from ..rig.tools.move_by_location import place_of
from ..rig.tools.pole_axis import is_in_line, pole_axis
from ..rig.tools.wording import outcome_in_words
from .chains import ChainGroup, body_of, chain_key, chains_of, is_idle, owner_of
from .choices import can_move_body, uses
from .controls.space_names import lost_spaces
from .controls.torso import lost_root
from .joints.joint_definitions import joints_by_bone
from .records import (
    belongs_to_body,
    bones_of_chain,
    bones_of_chains,
    chain_spec,
    count_bending,
    idle_joints,
    plan_of,
    target_and_pole,
)

NEW_KEYS = (
    "The chain starts from the new keys of its bones, so it now bends differently at other frames."
    " To keep its bends, key only the target, and delete the keys of the bones"
)
INSTANCED = Message(
    "the armature itself is not in this scene, for example because it is in a collection"
    " instance: add its collection to the scene, or bake its chains before you instance it"
)
POLE_IN_LINE = (
    "The pole is nearly in line with the root and the target, so the chain may flip: move the pole"
    " aside, or set Bend to With Body"
)
OUTSIDE_BODY = (
    "No bone of the body carries this chain, so it is solved by itself: to include it, choose a"
    " Root above it"
)
NO_FOOT_CONTROL = (
    "The control of this foot was deleted, so the foot cannot roll: remove the chain with Delete"
    " Controls, then press Set Up Limbs"
)
SOLVED_BY_ITSELF = (
    "A chain with the solver Force or Follow is solved by itself: the body carries it, but does"
    " not follow its target"
)
LOST_HANDLERS = (
    "A script has removed event handlers of this extension, so chains may not follow: disable and"
    " enable the extension in the preferences."
)


class ChainState(enum.StrEnum):
    """The state of a chain as shown by its color and its icon."""

    REACHED = enum.auto()
    """It is at its target, or as close to it as its soft distance or a single bone allows."""
    HELD = enum.auto()
    """It is short of its target, by limits for example, or its bones have stretched."""
    MISSED = enum.auto()
    """The target is out of reach."""
    IDLE = enum.auto()
    """It is not solved, and nothing is wrong: it is muted, for example."""
    BROKEN = enum.auto()
    """It cannot be solved until somebody changes something."""


def state_of_summary(summary: SolveSummary | None) -> ChainState:
    """Return the state of a chain from the end of its last solve; idle if there was no solve."""
    if summary is None:
        return ChainState.IDLE
    is_beyond = summary.status in (Status.EXTENDED, Status.FOLDED)
    if is_beyond and not summary.only_turns:
        return ChainState.MISSED
    # *Set Up Limbs* gives limbs a soft distance, so nearly straight ones are normally softened.
    is_near = (summary.status is Status.SOFTENED or is_beyond) and not summary.has_locks
    is_at_target = summary.status is Status.REACHED or is_near
    return ChainState.REACHED if is_at_target and not summary.is_stretched else ChainState.HELD


def state(settings: ChainGroup) -> ChainState:
    """Return the state of a chain, without solving it."""
    outcome = _outcome(settings)
    unsolved = _unsolved(settings, outcome)
    if unsolved is not None:
        return unsolved[0]
    if isinstance(outcome, Outcome) and _moved_off(settings, outcome):
        return ChainState.HELD
    (uid, index), graph = chain_key(settings), _graph_shown()
    (summary,) = live.memory.summaries(graph, uid, [index]) if graph else (None,)
    return state_of_summary(summary)


def status(settings: ChainGroup) -> Message:
    """Describe the last solve of a chain, or say why it was not solved."""
    outcome = _outcome(settings)
    *before, last = map(
        Message, (status_from_outcome(settings, outcome), *_notes(settings, outcome))
    )
    # A problem of a chain is a whole sentence, with a full stop; other statuses have none.
    ended = [text if text.endswith(".") else Message("{text}.", text=text) for text in before]
    return joined(" ", (*ended, last))


def _notes(settings: ChainGroup, outcome: Outcome | Message | None) -> Iterator[str]:
    """Yield further remarks about a chain."""
    if isinstance(outcome, Outcome) and not is_idle(settings):
        if _starts_from_new_keys(settings):
            yield NEW_KEYS
        if _may_flip(settings):
            yield POLE_IN_LINE
        if reason_alone := _outside_body(settings):
            yield reason_alone
    target, _ = target_and_pole(settings)
    if target is not None and has_lost_control(target):
        yield NO_FOOT_CONTROL
    for control in lost_spaces(settings):
        yield Message(
            "The space of '{control}' no longer exists: choose another space", control=control
        )


def _moved_off(settings: ChainGroup, outcome: Outcome) -> tuple[list[str], float] | None:
    """Return bones whose constraints have moved a chain's tip off its target, and the distance.

    None if constraints have not moved it.
    """
    owner, (target, _), plan = owner_of(settings), target_and_pole(settings), plan_of(settings)
    # The cheapest conditions first: this runs at every redraw.
    if plan is None or target is None or not (bones := constrained_bones(owner, plan)):
        return None
    joints = shown_joints(owner, plan)
    is_effector_root = settings.solver == "FOLLOW" and settings.follow_lead == "ROOT"
    end = joints[0 if is_effector_root else -1]
    gap = gap_after_constraints(outcome.residual, end, place_of(target), joints)
    return None if gap is None else (bones, gap)


def constrained_bones(owner: bpy.types.Object, plan: ChainPlan) -> list[str]:
    """Return the bones of a chain that have active constraints, which act after the chain.

    The bone whose head the chain brings to the target is included.
    """
    bones, end = owner.pose.bones, plan.skeleton.names[plan.tip]
    return [
        name
        for name in dict.fromkeys((*plan.names, end))
        if any(item.influence and not item.mute for item in bones[name].constraints)
    ]


def _add_moving_constraints(settings: ChainGroup, outcome: Outcome, text: str) -> str:
    """Return a status, after a sentence on constraints that have moved the tip off its target."""
    moved = _moved_off(settings, outcome)
    if moved is None:
        return text
    bones, off = listed(moved[0]), length_in_words(moved[1], length_unit(bpy.context.scene))
    return Message(
        "Constraints of {bones} act after the chain and leave {off} to the target: mute them, or"
        " end the chain before these bones. {text}",
        bones=bones,
        off=off,
        text=text,
    )


def _outside_body(settings: ChainGroup) -> str:
    """Return why a chain is solved by itself although there is a body; empty if it is not."""
    owner = owner_of(settings)
    if body_of(owner) is None:
        return ""
    if lost := lost_root(owner):
        return lost
    if not can_move_body(settings):
        return SOLVED_BY_ITSELF
    return "" if belongs_to_body(settings) else OUTSIDE_BODY


def _may_flip(settings: ChainGroup) -> bool:
    """Tell whether the pole of a chain hardly determines the side that the chain bends to."""
    pole = target_and_pole(settings)[1]
    if pole is None or settings.pole_mode != "TARGET" or not uses(settings, "pole_target"):
        return False
    with suppress(IKError):
        axis = pole_axis(owner_of(settings), chain_spec(settings, with_stored=False))
        return is_in_line(axis, place_of(pole))
    # If the chain is invalid, its status already says why.
    return False


def _outcome(settings: ChainGroup) -> Outcome | Message | None:
    """Return the outcome of a chain's last solve in the view layer shown."""
    graph = _graph_shown()
    return live.memory.outcome(graph, chain_key(settings)) if graph else None


def _graph_shown() -> GraphKey | None:
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    return shown_graph(scene, view_layer) if scene and view_layer else None


def _starts_from_new_keys(settings: ChainGroup) -> bool:
    """Tell whether a chain starts from keys of all its bones, which have no keys at other frames.

    More keys are a motion that was keyed or captured. Two bones, besides a hand or foot, bend to
    one side only. With an animated influence, the bones were keyed on purpose, for example by
    *Switch FK/IK*.
    """
    scene, owner = bpy.context.scene, owner_of(settings)
    is_keyed = settings.start_from == "KEYED" and uses(settings, "start_from")
    # The cheapest conditions first: this runs at every redraw.
    if scene is None or owner.animation_data is None or not is_keyed:
        return False
    if count_bending(settings) <= 2:
        return False
    _, index = chain_key(settings)
    counts = rotation_keys(owner, scene.frame_current_final).items()
    only_here = {bone for (bone, _), count in counts if count == 1}
    return (
        only_here.issuperset(bones_of_chain(settings))
        and not is_animated(owner, index, "influence")
        and not is_animated(owner, index, "mute")
    )


def status_from_outcome(settings: ChainGroup, outcome: Outcome | Message | None) -> str:
    """Describe a known outcome of a chain, or say why the chain is not solved."""
    unsolved = _unsolved(settings, outcome)
    if unsolved is not None:
        return unsolved[1]
    assert isinstance(outcome, Outcome)
    scene = bpy.context.scene
    text = outcome_in_words(outcome, length_unit(scene))
    if outcome.put_back and _is_auto_keyed(owner_of(settings), outcome):
        text = joined(". ", (text, Message("Auto Keying has keyed it: delete that key")))
    idle = ", ".join(idle_joints(settings))
    if idle:
        no_effect = "joints of bones that are not in the chain have no effect: {idle}"
        text = joined("; ", (text, Message(no_effect, idle=idle)))
    return _add_moving_constraints(settings, outcome, text)


def _unsolved(
    settings: ChainGroup, outcome: Outcome | Message | None
) -> tuple[ChainState, str] | None:
    """Return the state of a chain that is not solved, and the reason; None if it is solved."""
    if is_idle(settings):
        return _idle(settings)
    scene = bpy.context.scene
    if scene is not None and not scene.chain_ik.use_live:
        return ChainState.IDLE, "Live is off"
    if has_lost_handlers():
        return ChainState.BROKEN, LOST_HANDLERS
    reason = _why_not_posed(owner_of(settings))
    if reason:
        return ChainState.IDLE, Message("Not solved: {reason}", reason=reason)
    if outcome is None:
        return ChainState.IDLE, "Not solved yet: move the target, or change the frame"
    return (ChainState.BROKEN, outcome) if isinstance(outcome, Message) else None


def _is_auto_keyed(owner: bpy.types.Object, outcome: Outcome) -> bool:
    """Tell whether Auto Keying has keyed a bone that was put back and had no key at this frame.

    With *Only Insert Available* and *Only Insert Needed* it may set no key.
    """
    scene, before = bpy.context.scene, outcome.keys_before
    if scene is None or before is None or not scene.tool_settings.use_keyframe_insert_auto:
        return False
    new = rotation_keys(owner, scene.frame_current_final).keys() - before
    return any(bone in outcome.put_back for bone, _ in new)


def _idle(settings: ChainGroup) -> tuple[ChainState, str]:
    """Return state and reason of an idle chain, or why its stored pose cannot be given back."""
    try:
        bones_of_text(settings.stored_pose)
    except RigError as error:
        return ChainState.BROKEN, error.message
    zero = "FK: pose the bones, influence is zero"
    return ChainState.IDLE, Message("Muted" if settings.mute else zero)


def _why_not_posed(owner: bpy.types.Object) -> str:
    """Return why the chains of an object are not solved, in words; empty if nothing is wrong."""
    if owner.type != "ARMATURE":
        return Message("this object is not an armature, so remove the chain")
    if owner.data.is_editmode:
        return Message("the armature is in edit mode")
    if owner.data.pose_position == "REST":
        return Message("the armature shows its rest position")
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    depsgraph = None if view_layer is None else view_layer.depsgraph
    if scene is None or depsgraph is None or owner.visible_get():
        # An object that is new or has just been loaded is not evaluated until the next update.
        return ""
    if is_hidden(owner, depsgraph):
        return Message("the armature is hidden, or not in this view layer")
    return "" if owner in scene.objects.values() else INSTANCED


def residual(settings: ChainGroup) -> float:
    """Return the distance to a chain's target; -1 if its bones do not show its last solve."""
    outcome = _outcome_shown(settings)
    return -1.0 if outcome is None else remaining_distance(settings, outcome)


def remaining_distance(settings: ChainGroup, outcome: Outcome) -> float:
    """Return the distance to a chain's target after a solve and the constraints after it."""
    moved = _moved_off(settings, outcome)
    return outcome.residual if moved is None else moved[1]


def gives_way(settings: ChainGroup) -> bool:
    """Tell whether the body of a chain has moved, so that some limb can reach its target."""
    outcome = _outcome_shown(settings)
    return outcome is not None and outcome.gives_way


def _outcome_shown(settings: ChainGroup) -> Outcome | None:
    """Return the outcome of a chain's last solve; None if its bones do not show that solve."""
    outcome = _outcome(settings)
    if isinstance(outcome, Outcome) and _unsolved(settings, outcome) is None:
        return outcome
    return None


def paths_in_words(scene: bpy.types.Scene) -> str:
    """Return what is wrong with the motion paths of a scene; empty if nothing is."""
    if not scene.chain_ik.use_live:
        return ""
    shown, moved = unfilled(scene.objects), {}
    for rig in scene.objects if shown else ():
        bones = enumerate(bones_of_chains(rig, with_body=True))
        if posed := [names for i, names in bones if names and may_pose(rig, i)]:
            moved[rig] = set[str]().union(*posed)
    if not any(are_outdated(owner, moved) for owner in shown):
        return ""
    return (
        "Motion paths are wrong because Blender computes them without chains: press Update Motion"
        " Paths."
    )


def limits_in_words(settings: ChainGroup) -> str:
    """Return how many bones of a chain use their own IK settings, in words; empty if none does."""
    names, pose = bones_of_chain(settings), owner_of(settings).pose
    jointed = joints_by_bone(settings, names)
    count = sum([has_joint(pose.bones[name]) for name in names if name not in jointed])
    plural = Message("{count} bones use their own IK limits", count=count) if count else ""
    return "1 bone uses its own IK limits" if count == 1 else plural


def tree_of(settings: ChainGroup) -> list[ChainGroup]:
    """Return the other chains of the tree that a chain was last solved in."""
    outcome = _outcome_shown(settings)
    if outcome is None:
        return []
    chains = chains_of(owner_of(settings))
    return [chains[index] for index in outcome.tree if index < len(chains)]


def tree_in_words(settings: ChainGroup) -> list[Message]:
    """Return lines on a chain's tree: its other chains, and distances of goals that were missed."""
    others = tree_of(settings)
    if not others:
        return []
    unit = length_unit(bpy.context.scene)
    names = ", ".join([other.name for other in others])
    lines = [Message("Solved together with {name}", name=names)]
    for chain in (settings, *others):
        outcome = _outcome(chain)
        if isinstance(outcome, Outcome) and outcome.status is not Status.REACHED:
            gap = length_in_words(outcome.residual, unit)
            lines.append(Message("{name}: {residual} off", name=chain.name, residual=gap))
    return lines
