"""A machine that edits a file at random, and checks the file after every edit.

The checks compare what chains report with Blender's evaluated matrices.
"""

from __future__ import annotations

import re
import tempfile
from typing import Any

import bpy
import numpy as np

from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_feet
from tests.blender.edits.kinds import (  # noqa: F401  they register the edits
    random_bone_edits,
    random_button_edits,
    random_chain_edits,
    random_object_edits,
    random_round_trips,
    random_time_edits,
)
from tests.blender.edits.random_draws import EDITS, Output, draw, is_fault
from tests.blender.edits.random_scene import (
    START,
    body_bones,
    chain_bones,
    hand_of,
    make_scene,
    update_layers_of_edited,
)
from tests.blender.setups import rigs

# Edits that replace the poses, so that poses before and after cannot be compared.
REPLACING = {
    *("undo", "redo", "save_and_load", "register_again", "exchange_data", "set_frame"),
    *("bake", "bake_by_steps", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play", "play_in_any_order"),
}
# Edits after which the extension does not know what has changed.
FORGETTING = {
    *("undo", "redo", "save_and_load", "register_again", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play"),
}
# Buttons that move controls. They must not move the bones between the control and target of a foot.
MOVING_CONTROLS = {
    *("match", "switch", "switch_space", "drag_control", "turn_dial"),
    *("mirror", "set_up_limbs", "remove_with_controls", "make_body_by_button"),
}
TAGS = 2
"""How often all armatures are tagged: one tag may hide a creep below rounding."""


class RandomEdits:
    """Two rigs with chains, one of them perhaps with feet, and the edits made to them.

    In one file of three the other view layers are not checked until an edit shows them.
    ``is_undone`` holds while nothing has changed since a step was undone.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._is_checking_all_layers = seed % 3 > 0
        self._output = Output()
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = self._temporary.name
        self.is_undone = self._has_forgotten = False
        self._broken: set[tuple[str, str, int]] = set()
        with self._output.collecting():
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def close(self) -> None:
        self._temporary.cleanup()

    def make_rigs(self) -> None:
        with self._output.collecting():
            make_scene(draw(START, f"{self._seed} start"))
        self._check()

    def carry_out(self, name: str, /, **values: Any) -> None:
        """Carry out an edit, update, and check."""
        writable, feet = checks.writable_bones(), random_feet.mechanisms()
        if name not in ("undo", "redo"):
            self.is_undone = False
        with self._output.collecting():
            EDITS[name].carry_out(self, values)
            edited, objects = checks.poses(), checks.object_poses()
            bpy.context.view_layer.update()
            shown = checks.poses()
            update_layers_of_edited()
        self._has_forgotten = name in FORGETTING
        self._broken |= checks.not_finite(edited)
        self._check_output()
        if name in MOVING_CONTROLS:
            changed = random_feet.changed_mechanisms(feet)
            assert not changed, f"mechanisms of feet touched: {changed}"
        if name not in REPLACING:
            moved = checks.moved_without_a_chain(edited, shown, writable)
            assert not moved, f"moved without a chain: {moved}"
            moved = checks.moved_objects(objects, checks.object_poses())
            assert not moved, f"moved objects: {moved}"
        self._check()

    def _check(self) -> None:
        """Check the shown poses and statuses, in all view layers or in the shown one."""
        # Channels that an edit has broken may stay broken, and return with the stored pose.
        broken = checks.not_finite(checks.poses()) - self._broken
        assert not broken, f"not finite: {broken}"
        self._check_view_layer("")
        shown, scene = bpy.context.view_layer.name, bpy.context.scene
        others = [layer.name for layer in scene.view_layers if layer.name != shown]
        if not self._is_checking_all_layers or not others:
            return
        for name in (*others, shown):
            with self._output.collecting():
                rigs.change(bpy.context.window, view_layer=scene.view_layers[name])
            self._check_view_layer(f" in view layer '{name}'")

    def _check_view_layer(self, where: str) -> None:
        """Check what chains report, and that a tag moves nothing."""
        false = false_reports(bpy.context.scene)
        assert not false, f"untrue{where}: {false}"
        shown = checks.poses()
        with self._output.collecting():
            for _ in range(TAGS):
                checks.tag_all()
        self._check_output()
        exempt, approximate = checks.restless_rigs(), checks.with_history()
        if self._has_forgotten:
            exempt |= checks.with_held()
        moved = checks.not_stable(shown, checks.poses(), exempt, approximate)
        assert not moved, f"moved by a tag{where}: {moved}"

    def _check_output(self) -> None:
        text = self._output.take()
        assert not is_fault(text), text


LARGEST_LENGTH = 1e18
"""Length above which Blender's float32 holds neither squares nor bone positions."""
SHORTEST_SHOWN = 1e-6
"""Length below which a status shows zero."""

# The place of the remaining distance in every status.
DISTANCES = re.compile(
    r"(?:Out of reach by|Too near by|(?:Points at|Turned like) its target,|Kept|Stopped"
    r"|Held back by .*,|Part of the way because of influence,|On its way,|Outweighed by .*:"
    r"|Reached \()"
    r" ?([\d.e+-]+)( ?[^\W\d]+)?(?=[\s:,)]|$)"
)


def false_reports(scene: bpy.types.Scene) -> list[str]:
    """Return the false reports of chains, without rigs that Blender keeps moving."""
    depsgraph, restless = bpy.context.view_layer.depsgraph, checks.restless_rigs()
    reports: list[str] = []
    if not scene.chain_ik.use_live:
        return reports
    for ob in scene.objects:
        if ob.type != "ARMATURE" or ob.pose is None or ob.name_full in restless:
            continue
        for index, chain in enumerate(ob.chain_ik.chains):
            text = chain.status
            if not text or text.startswith("Not solved yet"):
                reports.append(f"{ob.name}, chain {index} says '{text}'")
            elif not chain.mute and chain.residual >= 0.0 and is_measurable(ob, chain):
                reports += _wrong_distance(ob, index, chain, depsgraph)
    return reports


def is_measurable(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> bool:
    """Return whether Blender shows the result of a chain: no constraint acts on its bones after it.

    This includes the bone whose head it brings to the target, and the bones of chains that share
    bones with it, as all of these are solved together. Of hidden armatures that others depend on,
    Blender evaluates the object's transform, but not the pose.
    """
    bones = _bones_solved_with(ob, chain) | {chain.bone}
    moved = any(
        not tie.mute and tie.influence > 0.0
        for name in bones
        for tie in ob.pose.bones[name].constraints
    )
    return (
        ob.visible_get()
        and not moved
        and not any(ob.pose.bones[name].is_in_ik_chain for name in bones)
    )


def _bones_solved_with(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> set[str]:
    """Return the names of the bones of a chain and of all chains solved together with it."""
    together = {*chain_bones(ob, chain), *body_bones(ob, chain)}
    solved = [other for other in ob.chain_ik.chains if not other.mute and other.residual >= 0.0]
    others = [{*chain_bones(ob, other), *body_bones(ob, other)} for other in solved]
    while sharing := [bones for bones in others if bones & together and not bones <= together]:
        together.update(*sharing)
    return together


def _largest_length(
    ob: bpy.types.Object, bone: str, gap: rigs.Array, depsgraph: bpy.types.Depsgraph
) -> float:
    """Return the largest length on the way to tip and target, which rounding is a share of.

    ``gap`` holds the two ends of the remaining gap, shape (2, 3).
    """
    posed = rigs.evaluated(ob, depsgraph)
    world, tip = np.array(posed.matrix_world), posed.pose.bones[bone]
    ends = [end for b in (tip, *tip.parent_recursive) for end in (b.head, b.tail)]
    # The largest stretch also multiplies a rounding error in any direction.
    longest = np.abs(world[:3, :3]).max() * np.abs(ends).max()
    return max(1.0, longest, np.abs(gap).max(), *np.abs(world[:3, 3]))


def _stretch_ratio(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph) -> float:
    """Return the largest ratio of the stretches along two directions, of a bone and its parents.

    Where bones do not inherit a whole scale, Blender extracts rotations from these matrices. This
    multiplies their rounding by the ratio.
    """
    tip = rigs.evaluated(ob, depsgraph).pose.bones[bone]
    return max(np.linalg.cond(np.array(b.matrix)[:3, :3]) for b in (tip, *tip.parent_recursive))


def _wrong_distance(
    ob: bpy.types.Object, index: int, chain: bpy.types.PropertyGroup, depsgraph: bpy.types.Depsgraph
) -> list[str]:
    """Return the reported distance of a chain if it differs from the measured one."""
    is_dragged_by_root = chain.solver == "FOLLOW" and chain.follow_lead == "ROOT"
    hand = hand_of(ob, chain)
    bone = chain_bones(ob, chain)[0] if is_dragged_by_root else hand or chain.bone
    is_at_tail = chain.use_tail and not is_dragged_by_root and not hand
    point = (rigs.tail if is_at_tail else rigs.head)(ob, bone, depsgraph)
    goal = rigs.world_matrix(chain.target, depsgraph)
    if chain.subtarget and chain.target.type == "ARMATURE":
        posed = rigs.evaluated(chain.target, depsgraph).pose.bones[chain.subtarget]
        goal = goal @ np.array(posed.matrix)
    goal = goal[:3, 3].astype(np.float64)
    size = _largest_length(ob, chain.bone, np.stack((point, goal)), depsgraph)
    if not size < LARGEST_LENGTH:
        return []
    gap = np.linalg.norm(point - goal)
    noise = 1e-7 * max(100.0, _stretch_ratio(ob, chain.bone, depsgraph)) * size
    is_true = abs(gap - chain.residual) <= noise
    if chain.status.startswith("Reached"):
        is_true &= gap <= chain.tolerance + noise
    if is_true and _states_distance(chain.status, gap, noise):
        return []
    report = f"'{chain.status}' and a residual of {chain.residual:.3g}"
    return [f"{ob.name}, chain {index} says {report}; it is {gap:.3g}"]


def _states_distance(status: str, gap: float, noise: float) -> bool:
    """Return whether the distance in a status, if there is one, equals the measured one.

    It may be off by half of its last digit, plus the rounding of the measured one.
    """
    match = DISTANCES.match(status)
    unit = "" if match is None else (match[2] or "").strip()
    if match is None or unit.startswith("iteration"):
        return True
    units = bpy.context.scene.unit_settings
    _, _, decimals = match[1].partition(".")
    size = bpy.utils.units.to_value(units.system, "LENGTH", f"1 {unit}") / units.scale_length
    rounding = 0.5 * 10.0 ** -len(decimals) * size if "e" not in match[1] else 0.05 * gap
    distance = float(match[1]) * size
    return abs(distance - gap) <= 1.001 * rounding + noise + SHORTEST_SHOWN
