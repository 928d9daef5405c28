"""Targets that constraints hold or carry: they go to the point, or are refused and stay."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.gizmos.placed import (
    PLACED,
    POINT,
    add_control,
    hang,
    make_arm,
    place,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal

move_target = bpy.ops.pose.chain_ik_move_target


def make_followed(*, is_bone: bool) -> tuple[bpy.types.Object, object]:
    """Return an arm, and its target, an empty or a bone of its own."""
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    if not is_bone:
        return ob, chain.target
    chain.subtarget = add_control(ob, "", seed=2)
    chain.target = ob
    rigs.enter(ob, "POSE")
    return ob, ob.pose.bones[chain.subtarget]


@pytest.mark.parametrize("is_bone", [False, True])
def test_what_a_child_of_constraint_carries_goes_to_the_point(is_bone):
    ob, moved = make_followed(is_bone=is_bone)
    chain = ob.chain_ik.chains[0]
    prop = rigs.make_empty("Prop", (0.3, 0.1, 0.4))
    prop.rotation_euler, prop.scale = (1.0, 0.4, 2.0), (2.0, 2.0, 2.0)
    held = moved.constraints.new("CHILD_OF")
    held.target = prop
    rigs.updated()
    # What hangs on it is carried away from where it was held.
    prop.rotation_euler, prop.location, prop.scale = (0.2, 2.0, 0.7), (1.0, 0.0, 0.0), (1, 1, 1)
    rigs.updated()
    press(move_target, location=POINT)
    np.testing.assert_allclose(place(chain.target, chain.subtarget), POINT, atol=PLACED)


@pytest.mark.parametrize("is_bone", [False, True])
def test_what_a_constraint_holds_is_refused_and_keeps_its_location(is_bone):
    ob, moved = make_followed(is_bone=is_bone)
    chain, constraint = ob.chain_ik.chains[0], moved.constraints.new("COPY_LOCATION")
    constraint.target = rigs.make_empty("Holder", (1.0, 1.0, 1.0))
    for influence in (1.0, 0.5):
        constraint.influence = influence
        rigs.updated()
        before, start = tuple(moved.location), place(chain.target, chain.subtarget)
        text = refusal(move_target, location=POINT)
        assert f"constraint, keeps the target '{moved.name}' from going there: mute" in text
        assert tuple(moved.location) == before
        np.testing.assert_array_equal(place(chain.target, chain.subtarget), start)
    constraint.mute = True
    rigs.updated()
    press(move_target, location=POINT)
    np.testing.assert_allclose(place(chain.target, chain.subtarget), POINT, atol=PLACED)


@pytest.mark.parametrize("is_bone", [False, True])
def test_a_limit_is_refused_where_it_is_in_the_way_alone(is_bone):
    ob, moved = make_followed(is_bone=is_bone)
    chain, constraint = ob.chain_ik.chains[0], moved.constraints.new("LIMIT_LOCATION")
    constraint.use_max_z, constraint.max_z, constraint.owner_space = True, 0.9, "WORLD"
    rigs.updated()
    inside, outside = (0.3, -0.2, 0.7), (0.3, -0.2, 1.2)
    press(move_target, location=inside)
    np.testing.assert_allclose(place(chain.target, chain.subtarget), inside, atol=PLACED)
    assert "from going there" in refusal(move_target, location=outside)
    np.testing.assert_allclose(place(chain.target, chain.subtarget), inside, atol=PLACED)


@pytest.mark.parametrize("kind", ["none", "sheared"])
@pytest.mark.parametrize("is_bone", [False, True])
def test_what_a_constraint_only_turns_goes_to_the_point_under_any_parents(kind, is_bone):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    moved = chain.target
    if is_bone:
        (above,) = rigs.add_bones(ob, rigs.zigzag(1, seed=3), prefix="Above")
        chain.target, chain.subtarget = ob, add_control(ob, above, seed=2)
        rigs.turn_bones(ob, seed=5, angle=1.0)
        rigs.enter(ob, "POSE")
        moved = ob.pose.bones[chain.subtarget]
    else:
        moved.delta_location, moved.scale = (0.0, 1.0, 2.0), (1.0, -2.0, 1.0)
    hang(ob if is_bone else moved, kind)
    moved.constraints.new("DAMPED_TRACK").target = rigs.make_empty("Seen", (3.0, 2.0, 1.0))
    rigs.updated()
    for point in (POINT, (-0.3, 0.2, 0.4)):
        press(move_target, location=point)
        np.testing.assert_allclose(place(chain.target, chain.subtarget), point, atol=2e-5)


def test_a_hidden_target_goes_to_the_point():
    ob = make_arm()
    target = ob.chain_ik.chains[0].target
    hidden = bpy.data.collections.new("Hidden")
    bpy.context.scene.collection.children.link(hidden)
    for step in range(3):
        if step == 0:
            target.hide_set(True)
        elif step == 1:
            target.hide_viewport = True
        else:
            target.hide_viewport = False
            bpy.context.scene.collection.objects.unlink(target)
            hidden.objects.link(target)
            bpy.context.view_layer.layer_collection.children["Hidden"].exclude = True
        rigs.updated()
        point = np.add(POINT, 0.1 * step)
        press(move_target, location=point)
        np.testing.assert_allclose(rigs.position(target), point, atol=PLACED)
