"""A user's steps around a button: select, press, read the message, compare the state."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs


def select_objects(*selected: bpy.types.Object, active: bpy.types.Object | None) -> None:
    """Select only these objects, in object mode, and make one active."""
    view_layer = bpy.context.view_layer
    view_layer.update()  # lists objects that have just been linked
    for ob in view_layer.objects:
        ob.select_set(ob in selected or ob == active)
    view_layer.objects.active = active


def select_bones(ob: bpy.types.Object, bones: Sequence[str], *targets: bpy.types.Object) -> None:
    """Select bones in pose mode, the last one active, and further objects."""
    select_objects(*targets, active=ob)
    rigs.enter(ob, "POSE")
    _select(ob, bones)
    rigs.change(ob.data.bones, active=ob.data.bones[bones[-1]] if bones else None)


def deselect_bones(ob: bpy.types.Object) -> None:
    _select(ob, ())
    bpy.context.view_layer.update()


def _select(ob: bpy.types.Object, bones: Sequence[str]) -> None:
    for bone in ob.pose.bones:
        # Blender 5.0 moved the selection from the armature's bones to the pose bones.
        holder = bone if hasattr(bone, "select") else bone.bone
        holder.select = bone.name in bones


def symmetrize(ob: bpy.types.Object, *bones: str) -> None:
    """Add the mirror images of bones to an armature."""
    with rigs.editing(ob) as edited:
        for bone in edited:
            bone.select = bone.select_head = bone.select_tail = bone.name in bones
        bpy.ops.armature.symmetrize()


def press(operator: Callable[..., set[str]], **settings: object) -> None:
    """Run an operator as its button does: Blender adds an undo step, then updates."""
    assert operator("EXEC_DEFAULT", True, **settings) == {"FINISHED"}
    bpy.context.view_layer.update()


def refusal(operator: Callable[..., set[str]], **settings: object) -> str:
    """Return the sentence of an operator's refusal, and check that nothing changes."""
    before = repr(state())  # repr makes NaN equal to NaN
    with pytest.raises(RuntimeError) as caught:
        operator("EXEC_DEFAULT", True, **settings)
    assert repr(state()) == before
    text = re.sub(r"^(Operator bpy\.ops\.\S+\.poll\(\)|Error:) ", "", str(caught.value)).strip()
    assert re.fullmatch(r"[A-Z][^\n]*[^.]\.", text), f"not one sentence: {text!r}"
    assert ". " not in text, f"not one sentence: {text!r}"
    return text


def warnings(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines with warnings among those printed since the last call."""
    return [line for line in capfd.readouterr().out.splitlines() if "Warning" in line]


@contextmanager
def unmoved(ob: bpy.types.Object, tolerance: float = 2e-5) -> Iterator[None]:
    """Check that the block moves none of the present bones."""
    before = rigs.matrices(ob)
    yield
    rigs.updated()
    after = rigs.matrices(ob)
    for name, matrix in before.items():
        np.testing.assert_allclose(after[name], matrix, atol=tolerance, err_msg=name)


def state() -> dict[str, object]:
    """Return all data in the file that a chain or an operator on chains could change."""
    return {
        f"{ob.name}, {name}": value
        for ob in bpy.data.objects
        for name, value in _object_state(ob).items()
    }


def _object_state(ob: bpy.types.Object) -> dict[str, object]:
    # Names, because references do not survive undo.
    chains = [
        (chain.name, chain.bone, chain.mute, *map(_name, (chain.target, chain.pole_target)))
        for chain in ob.chain_ik.chains
    ]
    result = {
        "matrix": [tuple(row) for row in ob.matrix_basis],
        "chains": chains,
        "active chain": ob.chain_ik.active_index,
    }
    if ob.pose is not None:
        result["rotations"] = rigs.rotations(ob)
        result["locations"] = [tuple(bone.location) for bone in ob.pose.bones]
        result["scales"] = [tuple(bone.scale) for bone in ob.pose.bones]
        result["anchors"] = anchors(ob)
    return result


def _name(ob: bpy.types.Object | None) -> str:
    return "" if ob is None else ob.name


def without_rotations(full: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in full.items() if not name.endswith(", rotations")}


def anchors(ob: bpy.types.Object) -> list[str]:
    return [constraint.name for bone in ob.pose.bones for constraint in bone.constraints]
