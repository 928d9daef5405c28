"""Rigs with a keyed chain on each limb, and the values of their keys and drivers."""

import bpy
import numpy as np

from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

HAS_SLOTS = "slots" in bpy.types.Action.bl_rna.properties
NAMES = ("Left", "Right", "Tail")
INFLUENCES = {"Left": 0.0, "Right": 1.0, "Tail": 0.25}


def make_limbs(name: str = "Rig", *names: str) -> bpy.types.Object:
    """Return an active rig with limbs beside each other, each with a chain far from its target."""
    ob = rigs.make_armature(name)
    for i, limb in enumerate(names or NAMES):
        offset = np.array([2.0 * i, 0.0, 0.0])
        tip = rigs.add_bones(ob, np.add(rigs.ARM, offset), prefix=limb)[-1]
        target = rigs.make_empty(f"{limb} Target", np.add(offset, (0.6, 0.5, 1.2)))
        rigs.add_chain(ob, tip, target, name=limb)
    activate(ob, 0)
    return ob


def activate(ob: bpy.types.Object, index: int) -> None:
    select_objects(active=ob)
    rigs.change(ob.chain_ik, active_index=index)


def key_chains(ob: bpy.types.Object, **influences: float) -> bpy.types.Action:
    """Key the influence of chains by their names, and return the action."""
    for name, influence in (influences or INFLUENCES).items():
        index = ob.chain_ik.chains.find(name)
        rigs.key(ob, f"chain_ik.chains[{index}].influence", {1: influence, 20: influence})
    return ob.animation_data.action


def keyed(action: bpy.types.Action, slot: object = None) -> dict[str, float]:
    """Return the values at frame 1 of an action's curves, of all slots or of one."""
    bags = [action]
    if HAS_SLOTS:
        bags = [
            bag
            for layer in action.layers
            for strip in layer.strips
            for bag in strip.channelbags
            if slot is None or bag.slot_handle == slot.handle
        ]
    curves = [curve for bag in bags for curve in bag.fcurves]
    values = {}
    for curve in curves:
        # Only locations have several components.
        index = f"[{curve.array_index}]" if "location" in curve.data_path else ""
        values[curve.data_path + index] = round(curve.evaluate(1), 6)
    assert len(values) == len(curves), "two curves for one setting"
    return values


def played(ob: bpy.types.Object) -> dict[str, float]:
    """Return the influence of the chains as Blender evaluates it at another frame."""
    rigs.go_to(3)
    return {chain.name: round(chain.influence, 6) for chain in rigs.evaluated(ob).chain_ik.chains}


def assign_action(
    ob: bpy.types.Object, action: bpy.types.Action, slot: bpy.types.bpy_struct | None = None
) -> None:
    """Assign an action to an object, with the given slot or its first one if it has slots."""
    data = ob.animation_data or ob.animation_data_create()
    data.action = action
    if HAS_SLOTS:
        data.action_slot = slot or action.slots[0]


def strip_of(ob: bpy.types.Object, start: int = 1) -> bpy.types.NlaStrip:
    """Move the object's action, with its slot, into an NLA strip."""
    data = ob.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new("Strip", start, action)
    if slot is not None:
        strip.action_slot = slot
    return strip


def read_by(block: bpy.types.ID, path: str, owner: bpy.types.ID, source: str, index: int = -1):
    curve = block.driver_add(path, index)
    target = curve.driver.variables.new().targets[0]
    target.id, target.data_path = owner, source
    curve.driver.expression = "var"
    return curve


def source_of(curve: bpy.types.FCurve) -> str:
    return curve.driver.variables[0].targets[0].data_path
