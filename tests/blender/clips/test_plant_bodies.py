"""Plant Feet on other bodies, on hands, and on several people."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from blender_ik_addon.rig.controls.foot_roll import control_above
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.body.human_bodies import make_character
from tests.blender.clips import stepping, walking
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, select_objects
from tests.core.clips.test_contacts import f1

pytestmark = [pytest.mark.usefixtures("rigify"), pytest.mark.slow, pytest.mark.oldest]


def ends_of(ob: bpy.types.Object, bones: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the ways of the heads of bones, world space, by chain."""
    found = {name: [] for name in bones}
    for frame in stepping.FRAMES:
        bpy.context.scene.frame_set(frame)
        for name, bone in bones.items():
            found[name].append(ob.matrix_world @ ob.pose.bones[bone].head)
    return {name: np.array(path) for name, path in found.items()}


@pytest.mark.parametrize(
    ("body", "control", "feet"),
    [
        ("horse", "BONE", {"Front Leg": "f_hoof", "Hind Leg": "r_hoof"}),
        ("human", "EMPTY", {"Leg": "foot"}),
    ],
)
def test_feet_of_any_body_stand(body, control, feet):
    stands = stepping.step(make_character(body, control))
    check_planted(bpy.context.object, feet, stands)


def test_on_hands_alone_hands_stand_and_feet_do_not():
    ob = make_character()
    ob.rotation_euler.x = np.pi
    rigs.updated()
    world = ob.matrix_world
    for side in "LR":
        shoulder, hand = (ob.pose.bones[f"{name}.{side}"] for name in ("upper_arm", "hand"))
        way = world @ shoulder.head - world @ hand.head - Vector((0.0, 0.0, 0.35))
        control = control_above(Anchor(ob, ob.chain_ik.chains[f"Arm.{side}"].subtarget))
        moved = ob.pose.bones[control.bone]
        moved.matrix = world.inverted() @ Matrix.Translation(way) @ world @ moved.matrix
    rigs.updated()
    check_planted(ob, {"Arm": "hand"}, stepping.step(ob, ("Arm",)))
    assert walking.planted(ob, "Leg.L") is None
    assert walking.planted(ob, "Leg.R") is None


def check_planted(
    ob: bpy.types.Object, feet: dict[str, str], stands: dict[str, np.ndarray]
) -> None:
    """Plant feet that skate: they stand when they are to, and move as smoothly as before."""
    bones = {f"{limb}.{side}": f"{bone}.{side}" for limb, bone in feet.items() for side in "LR"}
    before = ends_of(ob, bones)
    press(bpy.ops.pose.chain_ik_plant)
    after = ends_of(ob, bones)
    for name in bones:
        kinds = walking.planted(ob, name)
        assert f1(kinds == 3, stands[name]) >= 0.97
        both = (kinds[1:] == 3) & (kinds[:-1] == 3)
        steps = [np.linalg.norm(np.diff(each[name], axis=0), axis=1) for each in (before, after)]
        assert steps[0][both].max() > 5e-4 * stepping.height_of(ob)
        assert steps[1][both].max() < 1e-4
        assert walking.acceleration(after[name]) <= 1.2 * walking.acceleration(before[name])


SLIDE, AGAIN = 1e-4, 1e-6


def make_twin(human: bpy.types.Object) -> bpy.types.Object:
    """Return a copy of a human that plays the same action elsewhere."""
    twin = rigs.link(human.copy())
    for chain in twin.chain_ik.chains:
        chain.target = twin
    twin.location, twin.rotation_euler.z = (2.0, 1.0, 0.3), 0.7
    bpy.context.view_layer.update()
    return twin


def moved_by(paths: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(paths[name] - others[name]).max()) for name in paths)


def test_people_who_share_an_action_are_planted_one_by_one(rigify):
    people = [opened(walking.make)]
    people.append(make_twin(people[0]))
    bpy.context.scene.frame_end = 25
    assert people[0].animation_data.action == people[1].animation_data.action
    before = [walking.paths_of(each) for each in people]
    for human, other in (people, people[::-1]):
        still = walking.paths_of(other)
        select_objects(active=human)
        press(bpy.ops.pose.chain_ik_plant)
        once = walking.paths_of(human)
        assert walking.slides(human, once) < SLIDE
        assert moved_by(once, before[people.index(human)]) > 10 * SLIDE
        assert moved_by(walking.paths_of(other), still) <= AGAIN
    press(bpy.ops.pose.chain_ik_plant)
    assert moved_by(walking.paths_of(human), once) <= AGAIN
    assert people[0].animation_data.action != people[1].animation_data.action


def test_a_clip_that_is_kept_is_never_written_to(rigify):
    human = opened(walking.make)
    press(bpy.ops.pose.chain_ik_plant)
    kept = bpy.data.actions["Walk (unplanted)"]
    human.animation_data.action = kept
    if hasattr(kept, "slots"):
        human.animation_data.action_slot = kept.slots[0]
    press(bpy.ops.pose.chain_ik_plant)
    assert human.animation_data.action != kept
    assert "chain_ik_clip" not in kept
