"""Chains are solved after whatever moves their targets and bones: skins, curves, drivers."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, ties

PLACES = {1: (0.9, 0.3, 1.2), 9: (-0.8, 0.7, 1.4), 20: (0.4, -0.9, 0.9)}
FRAMES = (1, 5, 9, 14, 20, 9, 1)


def drive(
    owner: bpy.types.bpy_struct, path: str, source: bpy.types.ID, data_path: str, index: int = -1
) -> bpy.types.FCurve:
    """Drive a setting by a property, or by the turn of a bone if ``data_path`` is its name."""
    if isinstance(source, bpy.types.Object) and data_path in source.pose.bones:
        settings = {"bone": data_path, "index": index, "expression": "value"}
        return ties.drive(owner, path, source, "ROT_X", **settings)
    curve = owner.driver_add(path, index)
    variable = curve.driver.variables.new()
    variable.name = curve.driver.expression = "value"
    (target,) = variable.targets
    if not isinstance(source, bpy.types.Object):
        target.id_type = source.id_type
    target.id, target.data_path = source, data_path
    return curve


def make_skin(leader: bpy.types.Object) -> bpy.types.Object:
    """Make a triangle on the tip of an arm."""
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([(0.0, 0.0, 1.8), (0.1, 0.0, 1.8), (0.0, 0.1, 1.8)], [], [(0, 1, 2)])
    skin = rigs.link(bpy.data.objects.new("Skin", mesh))
    skin.vertex_groups.new(name="Bone.1").add([0, 1, 2], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = leader
    return skin


def make_curve() -> bpy.types.Object:
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.dimensions, curve.use_path = "3D", True
    points = curve.splines.new("POLY").points
    points.add(1)
    points[0].co, points[1].co = (0.5, 0.0, 0.6, 1.0), (0.0, 0.2, 1.6, 1.0)
    return rigs.link(bpy.data.objects.new("Path", curve))


def ride_on_a_vertex(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    rider.parent, rider.parent_type = make_skin(leader), "VERTEX"
    rider.parent_vertices = (0, 0, 0)


def ride_on_a_child_skin(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    ride_on_a_vertex(rider, leader)
    rider.parent.modifiers.clear()
    rider.parent.parent, rider.parent.parent_type = leader, "ARMATURE"


def ride_on_a_vertex_group(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    ties.constrain(rider, "COPY_LOCATION", target=make_skin(leader), subtarget="Bone.1")


def ride_on_a_surface(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    rider.location = (1.0, 1.0, 1.5)
    rider.constraints.new("SHRINKWRAP").target = make_skin(leader)


def ride_on_a_hooked_path(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    path = make_curve()
    ties.constrain(rider, "FOLLOW_PATH", target=path, use_fixed_location=True, offset_factor=1.0)
    hook = path.modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = leader, "Bone.1"
    hook.vertex_indices_set([1])


def ride_on_a_driven_path(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    rider.constraints.new("FOLLOW_PATH").target = path = make_curve()
    curve = drive(path.data, "eval_time", leader, "Bone.1")
    curve.driver.expression = "50 + 30 * value"


def ride_on_a_driven_shape(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    ride_on_a_vertex(rider, leader)
    rider.parent.modifiers.clear()
    for name in ("Basis", "Moved"):
        shape = rider.parent.shape_key_add(name=name)
    shape.data[0].co = (0.8, 0.1, 1.2)
    curve = drive(shape.id_data, 'key_blocks["Moved"].value', leader, "Bone.1")
    curve.driver.expression = "0.5 + 0.5 * value"


def ride_by_a_channel(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    drive(rider, "location", leader, 'pose.bones["Bone.0"].rotation_quaternion[1]', 0)


def ride_by_a_place(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    drive(rider, "location", leader, 'pose.bones["Bone.1"].head[0]', 0)


def ride_by_a_property_of_the_armature(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    leader.data["value"] = 0.0
    drive(leader.data, '["value"]', leader, "Bone.1")
    drive(rider, "location", leader.data, '["value"]', 0)


def ride_by_a_property_of_a_bone(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    leader.pose.bones["Bone.1"]["value"] = 0.0
    drive(leader, 'pose.bones["Bone.1"]["value"]', leader, "Bone.0")
    drive(rider, "location", leader, 'pose.bones["Bone.1"]["value"]', 0)


def ride_by_a_property_of_the_scene(rider: bpy.types.Object, leader: bpy.types.Object) -> None:
    scene = bpy.context.scene
    scene["value"] = 0.0
    drive(scene, '["value"]', leader, "Bone.1")
    drive(rider, "location", scene, '["value"]', 0)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "ride", [value for name, value in sorted(globals().items()) if name.startswith("ride_")]
)
def test_a_chain_reaches_a_target_that_another_chain_deforms_or_drives_in_the_same_update(ride):
    follower = rigs.make_rig(name="Follower")
    # In the reach of the follower, also where the leader's tip carries it.
    rider, _ = rigs.follow(follower, "Bone.1", (0.2, 0.1, -0.7), empty="Rider", chain_count=2)
    leader = rigs.make_rig(name="Leader")
    leader_target, _ = rigs.follow(leader, "Bone.1", PLACES[1], empty="Lead", chain_count=2)
    rigs.key(leader_target, "location", PLACES)
    ride(rider, leader)
    poses: dict[int, list[object]] = {}
    for frame in FRAMES:
        rigs.assert_reaches(follower, "Bone.1", rider, rigs.go_to(frame))
        poses.setdefault(frame, []).append(rigs.pose(follower))
    assert all(np.ptp(same, axis=0).max() < 1e-5 for same in poses.values())
    assert np.ptp([same[0] for same in poses.values()], axis=0).max() > 0.05
    rigs.change(leader_target, location=(0.2, 0.8, 1.3))
    rigs.assert_reaches(follower, "Bone.1", rider, rigs.updated())


def test_a_bone_above_a_chain_moves_with_the_channel_that_drives_it_in_the_same_update():
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((1.5, 0.0, 0.0), (1.5, 0.0, 0.6)), prefix="Driven")
    limb = ((1.5, 0.0, 0.6), (1.6, 0.0, 1.4), (1.5, 0.0, 2.2))
    rigs.add_bones(ob, limb, prefix="Limb", parent="Driven.0")
    goal, _ = rigs.follow(ob, "Limb.1", (2.0, 0.5, 1.5), empty="Goal", chain_count=2)
    target, _ = rigs.follow(ob, "Bone.1", PLACES[1], empty="Target", chain_count=2)
    rigs.key(target, "location", PLACES)
    path = 'pose.bones["Bone.0"].rotation_quaternion[1]'
    drive(ob, 'pose.bones["Driven.0"].location', ob, path, 0)
    for frame in FRAMES:
        rigs.assert_reaches(ob, "Limb.1", goal, rigs.go_to(frame))


@pytest.mark.parametrize("source", ["Bone.0", 'pose.bones["Bone.0"].rotation_quaternion[1]'])
def test_a_driver_of_another_bone_does_not_make_a_chain_move_its_own_target(source):
    """Corrective bones are driven so, in rigs with control bones."""
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((0.6, 0.5, 1.2), (0.6, 0.9, 1.2)), prefix="Control")
    rigs.add_bones(ob, ((0.2, 0.0, 1.0), (0.4, 0.0, 1.0)), prefix="Corrective")
    chain = rigs.add_chain(ob, "Bone.1", ob, subtarget="Control.0", chain_count=2)
    curve = drive(ob, 'pose.bones["Corrective.0"].location', ob, source, 0)
    rigs.updated()
    assert chain.status.startswith("Reached")
    curve.data_path = 'pose.bones["Control.0"].location'
    rigs.tagged(ob)
    bpy.context.scene.frame_set(2)
    assert chain.status.startswith("This chain moves its own target bone 'Control.0'")


def test_drivers_of_corrective_bones_and_of_switches_on_bones_leave_limbs_after_their_spine():
    ob = rigs.make_rig()
    target, _ = rigs.follow(ob, "Bone.1", PLACES[1], empty="Target", chain_count=2)
    rigs.key(target, "location", PLACES)
    goals = {}
    for side, x in (("L", 0.4), ("R", -0.4)):
        limb = ((x, 0.0, 2.0), (2 * x, 0.1, 2.5), (3 * x, 0.0, 2.0))
        rigs.add_bones(ob, limb, prefix=f"Arm{side}", parent="Bone.1")
        rigs.add_bones(ob, ((x, 0, 0), (x, 0, 1)), prefix=f"Help{side}")
        goal, chain = rigs.follow(
            ob, f"Arm{side}.1", (2 * x, 0.6, 1.5), empty=f"Goal{side}", chain_count=2
        )
        goals[f"Arm{side}.1"] = goal
        bone = f'pose.bones["Arm{side}.1"]'
        source = f"{bone}.rotation_quaternion[1]" if side == "L" else f"Arm{side}.1"
        drive(ob, f'pose.bones["Help{side}.0"].location', ob, source, 0)
        ob.pose.bones[f"Arm{side}.1"]["switch"] = 1.0
        drive(ob, chain.path_from_id("influence"), ob, f'{bone}["switch"]')
    for frame in FRAMES:
        depsgraph = rigs.go_to(frame)
        for bone, goal in goals.items():
            gap = np.linalg.norm(rigs.tail(ob, bone, depsgraph) - rigs.position(goal, depsgraph))
            index = [chain.bone for chain in ob.chain_ik.chains].index(bone)
            assert ob.chain_ik.chains[index].residual == pytest.approx(gap, abs=1e-5)
