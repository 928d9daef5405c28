"""A machine that edits a file at random, and looks after every edit whether all still holds.

What chains say of themselves is held beside what Blender's evaluated matrices show.
"""

from __future__ import annotations

import re
import tempfile
from typing import Any

import bpy
import numpy as np

from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_feet
from tests.blender.edits.kinds import (  # noqa: F401  they add the edits
    random_bone_edits,
    random_button_edits,
    random_chain_edits,
    random_object_edits,
    random_round_trips,
    random_time_edits,
)
from tests.blender.edits.random_checks import without_rest
from tests.blender.edits.random_draws import EDITS, Output, draw, is_fault
from tests.blender.edits.random_scene import START, carrying, driven_in_order, hand_of, make_scene
from tests.blender.setups import rigs

# Edits that replace what there was, so that nothing of before can be compared.
ANEW = {
    *("undo", "redo", "save_and_load", "register_again", "exchange_data", "set_frame"),
    *("bake", "bake_by_steps", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play", "play_in_any_order"),
}
# Those after which nobody knows what has changed.
FORGETTING = {
    *("undo", "redo", "save_and_load", "register_again", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play"),
}
# Buttons that move controls: never what stands between the control of a foot and its target.
HANDLING = {
    *("match", "switch", "switch_space", "drag_control", "turn_dial"),
    *("mirror", "set_up_limbs", "remove_with_controls", "make_body_by_button"),
}
TAGS = 2
"""How often all armatures are tagged: what creeps less than rounding would hide in one."""


class RandomEdits:
    """Two rigs with chains, of which one may have feet, and whatever becomes of them.

    In one file of three other view layers wait until an edit shows them. The machine is undone
    while nothing has changed since a step was undone.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._looks_everywhere = seed % 3 > 0
        self._output = Output()
        self._holder = tempfile.TemporaryDirectory()
        self.folder = self._holder.name
        self.is_undone = self._has_forgotten = False
        self._broken: set[tuple[str, str, int]] = set()
        with self._output.collected():
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def close(self) -> None:
        self._holder.cleanup()

    def make_rigs(self) -> None:
        with self._output.collected():
            make_scene(draw(START, f"{self._seed} start"))
        self._look()

    def carry_out(self, name: str, /, **values: Any) -> None:
        """Carry out an edit, update, and look."""
        known, feet = checks.written(), random_feet.mechanisms()
        if name not in ("undo", "redo"):
            self.is_undone = False
        with self._output.collected():
            EDITS[name].carry_out(self, values)
            put, placed = checks.poses(), checks.placings()
            bpy.context.view_layer.update()
            shown = checks.poses()
        self._has_forgotten = name in FORGETTING
        self._broken |= checks.not_finite(put)
        self._check_output()
        if name in HANDLING:
            touched = random_feet.touched(feet)
            assert not touched, f"mechanisms of feet touched: {touched}"
        if name not in ANEW:
            moved = checks.moved_without_a_chain(put, shown, known)
            assert not moved, f"moved without a chain: {moved}"
            moved = checks.moved_objects(placed, checks.placings())
            assert not moved, f"moved objects: {moved}"
        self._look()

    def _look(self) -> None:
        """Check what has to be true of what is shown, in all view layers."""
        # What an edit has broken may stay where it is, and comes back with the stored pose.
        broken = checks.not_finite(checks.poses()) - self._broken
        assert not broken, f"not finite: {broken}"
        self._look_here("")
        shown, scene = bpy.context.view_layer.name, bpy.context.scene
        others = [layer.name for layer in scene.view_layers if layer.name != shown]
        if not self._looks_everywhere or not others:
            return
        for name in (*others, shown):
            with self._output.collected():
                rigs.change(bpy.context.window, view_layer=scene.view_layers[name])
            self._look_here(f" in view layer '{name}'")

    def _look_here(self, where: str) -> None:
        """Check what chains say, and that a tag moves nothing."""
        false = untrue(bpy.context.scene)
        assert not false, f"untrue{where}: {false}"
        shown, waiting = checks.poses(), checks.with_waiting()
        with self._output.collected():
            for _ in range(TAGS):
                checks.tag_all()
        self._check_output()
        exempt, again = checks.without_rest() | waiting, checks.with_history()
        if self._has_forgotten:
            exempt |= checks.with_held()
        moved = checks.not_stable(shown, checks.poses(), exempt, again)
        assert not moved, f"moved by a tag{where}: {moved}"

    def _check_output(self) -> None:
        text = self._output.taken()
        assert not is_fault(text), text


LARGEST = 1e18
"""Of what is larger Blender's own float32 cannot tell squares, nor where bones lie."""
SHORTEST_SAID = 1e-6
"""What is shorter a status calls zero."""

# Where each status tells the distance that is left.
DISTANCES = re.compile(
    r"(?:Out of reach by|Too near by|(?:Points at|Turned as) its target,|Kept|Stopped"
    r"|Held back by .*,|Part of the way by influence,|On its way,|Outweighed by .*:|Reached \()"
    r" ?([\d.e+-]+)( ?[^\W\d]+)?(?=[\s:,)]|$)"
)


def untrue(scene: bpy.types.Scene) -> list[str]:
    """Return what chains say that is not true; what Blender goes on moving is left out."""
    depsgraph, restless = bpy.context.view_layer.depsgraph, without_rest()
    found: list[str] = []
    if not scene.chain_ik.use_live:
        return found
    for ob in scene.objects:
        if ob.type != "ARMATURE" or ob.pose is None or ob.name_full in restless:
            continue
        for index, chain in enumerate(ob.chain_ik.chains):
            text = chain.status
            if not text or text.startswith("Not solved yet"):
                found.append(f"{ob.name}, chain {index} says '{text}'")
            elif not chain.mute and chain.residual >= 0.0 and is_measurable(ob, chain):
                found += _wrong_distance(ob, index, chain, depsgraph)
    return found


def is_measurable(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether Blender shows what the chain does: no constraint acts after it on its bones.

    Nor on the bone whose head it brings to the target, nor on those of chains that it shares bones
    with: it is solved together with them. Of hidden armatures that others hang on Blender evaluates
    the place, but not the pose.
    """
    bones = _solved_with(ob, chain) | {chain.bone}
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


def _solved_with(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> set[str]:
    """Return the names of the bones of a chain and of all that are solved together with it."""
    found = {*driven_in_order(ob, chain), *carrying(ob, chain)}
    solved = [other for other in ob.chain_ik.chains if not other.mute and other.residual >= 0.0]
    others = [{*driven_in_order(ob, other), *carrying(ob, other)} for other in solved]
    while sharing := [bones for bones in others if bones & found and not bones <= found]:
        found.update(*sharing)
    return found


def _size(
    ob: bpy.types.Object, bone: str, gap: rigs.Array, depsgraph: bpy.types.Depsgraph
) -> float:
    """Return what rounding is a share of: the largest length on the way to tip and target.

    Both ends of what is left between them are in ``gap``, shape (2, 3).
    """
    posed = rigs.evaluated(ob, depsgraph)
    world, tip = np.array(posed.matrix_world), posed.pose.bones[bone]
    ends = [end for each in (tip, *tip.parent_recursive) for end in (each.head, each.tail)]
    # What is rounded in any direction is stretched as the most stretched one.
    longest = np.abs(world[:3, :3]).max() * np.abs(ends).max()
    return max(1.0, longest, np.abs(gap).max(), *np.abs(world[:3, 3]))


def _flatness(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph) -> float:
    """Return how many times as much a bone or a parent is stretched one way as another.

    Where bones do not inherit all of a scale, Blender reads rotations out of these matrices, which
    makes their rounding as many times as large.
    """
    tip = rigs.evaluated(ob, depsgraph).pose.bones[bone]
    return max(np.linalg.cond(np.array(b.matrix)[:3, :3]) for b in (tip, *tip.parent_recursive))


def _wrong_distance(
    ob: bpy.types.Object, index: int, chain: bpy.types.PropertyGroup, depsgraph: bpy.types.Depsgraph
) -> list[str]:
    """Return what a chain says of the way to its target if that is not what is left of it."""
    is_led_by_root = chain.solver == "FOLLOW" and chain.follow_lead == "ROOT"
    hand = hand_of(ob, chain)
    bone = driven_in_order(ob, chain)[0] if is_led_by_root else hand or chain.bone
    is_at_tail = chain.use_tail and not is_led_by_root and not hand
    point = (rigs.tail if is_at_tail else rigs.head)(ob, bone, depsgraph)
    goal = rigs.world_matrix(chain.target, depsgraph)
    if chain.subtarget and chain.target.type == "ARMATURE":
        posed = rigs.evaluated(chain.target, depsgraph).pose.bones[chain.subtarget]
        goal = goal @ np.array(posed.matrix)
    goal = goal[:3, 3].astype(np.float64)
    size = _size(ob, chain.bone, np.stack((point, goal)), depsgraph)
    if not size < LARGEST:
        return []
    gap = np.linalg.norm(point - goal)
    noise = 1e-7 * max(100.0, _flatness(ob, chain.bone, depsgraph)) * size
    is_true = abs(gap - chain.residual) <= noise
    if chain.status.startswith("Reached"):
        is_true &= gap <= chain.tolerance + noise
    if is_true and _says(chain.status, gap, noise):
        return []
    said = f"'{chain.status}' and a residual of {chain.residual:.3g}"
    return [f"{ob.name}, chain {index} says {said}; it is {gap:.3g}"]


def _says(status: str, gap: float, noise: float) -> bool:
    """Tell whether the distance in a status, if there is one, is the one that is measured.

    It may be off by half of its last digit, and by what rounding makes of the measured one.
    """
    found = DISTANCES.match(status)
    unit = "" if found is None else (found[2] or "").strip()
    if found is None or unit.startswith("iteration"):
        return True
    units = bpy.context.scene.unit_settings
    _, _, decimals = found[1].partition(".")
    size = bpy.utils.units.to_value(units.system, "LENGTH", f"1 {unit}") / units.scale_length
    rounding = 0.5 * 10.0 ** -len(decimals) * size if "e" not in found[1] else 0.05 * gap
    said = float(found[1]) * size
    return abs(said - gap) <= 1.001 * rounding + noise + SHORTEST_SAID
