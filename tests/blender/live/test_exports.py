"""Graphs that Blender builds for exports and renders: what they hold, and what they leave."""

from pathlib import Path

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live.replaced_values import ReplacedValues
from blender_ik_addon.rig.reading.update import Update
from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames
from tests.helpers import Array

FRAMES = (1, 6)
MOVES = {1: (0.7, 0.3, 1.2), 6: (-0.6, 0.9, 0.8)}
EXPORTS = {
    "alembic": ("abc", {"start": FRAMES[0], "end": FRAMES[1], "as_background_job": False}),
    "usd": ("usdc", {"export_animation": True, "export_armatures": False}),
}
OBJ = {"export_animation": True, "start_frame": FRAMES[0], "end_frame": FRAMES[1]}
LEAVING = {**EXPORTS, "obj": ("obj", {**OBJ, "export_eval_mode": "DAG_EVAL_RENDER"})}
IMPORTS = {"alembic": {"as_background_job": False}, "usd": {}}


def export(what: str, folder: Path, **settings: object) -> str:
    """Export all frames, and return the path of the file; skip if Blender lacks the format."""
    if not getattr(bpy.app.build_options, "io_wavefront_obj" if what == "obj" else what):
        pytest.skip(f"this Blender is built without {what}, as Debian's is")
    extension, others = LEAVING[what]
    path = str(folder / f"shot.{extension}")
    getattr(bpy.ops.wm, f"{what}_export")(filepath=path, **others, **settings)
    return path


def make_marker(name: str, parent: bpy.types.Object | None = None, bone: str = "") -> None:
    """Make a triangle, parented to a bone; exports hold the places of meshes."""
    mesh = bpy.data.meshes.new(f"Marker {name}")
    mesh.from_pydata([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)], [], [(0, 1, 2)])
    marker = rigs.link(bpy.data.objects.new(mesh.name, mesh))
    if parent is not None:
        marker.parent, marker.parent_type, marker.parent_bone = parent, "BONE", bone


def make_shot() -> bpy.types.Object:
    """Make two arms, the second on a bone of the first, and animation beside that of chains.

    Keys move a bone and the object of the first arm, and a keyed property of the scene a marker.
    """
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES
    ob, target = rigs.make_arm()
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Keyed")
    second, _ = rigs.make_arm((1.0, 1.0, 2.5), name="Second")
    second.parent, second.parent_type, second.parent_bone = ob, "BONE", "Bone.1"
    rigs.key(target, "location", MOVES)
    rigs.key(ob, 'pose.bones["Keyed.0"].location', {1: (0, 0, 0), 6: (3, 0, 0)})
    rigs.key(ob, "location", {1: (0, 0, 0), 6: (0.5, 0, 0)})
    rigs.key(scene, '["height"]', {1: 0.0, 6: 5.0})
    for name, parent, bone in (
        ("Arm", ob, "Bone.1"),
        ("Keyed", ob, "Keyed.0"),
        ("Second", second, "Bone.1"),
        ("Driven", None, ""),
    ):
        make_marker(name, parent, bone)
    driver = bpy.data.objects["Marker Driven"].driver_add("location", 2).driver
    variable = driver.variables.new()
    variable.targets[0].id_type, variable.targets[0].id = "SCENE", scene
    variable.targets[0].data_path, driver.expression = '["height"]', variable.name
    return ob


def places(depsgraph: bpy.types.Depsgraph) -> Array:
    """Return the places of all markers by name, shape (4, 3)."""
    markers = sorted(
        (item for item in depsgraph.objects if item.name.startswith("Marker")),
        key=lambda item: item.name,
    )
    return np.array([item.matrix_world.translation for item in markers])


def places_by_frame(subframes: tuple[float, ...] = ()) -> dict[float, Array]:
    """Return the places of all markers in the viewport."""
    frames = range(FRAMES[0], FRAMES[1] + 1)
    times = [frame + offset for frame in frames for offset in (*subframes, 0.0)]
    return {time: places(rigs.go_to(time)) for time in times}


@pytest.mark.parametrize("mode", ["RENDER", "VIEWPORT"])
@pytest.mark.parametrize("what", EXPORTS)
def test_exports_hold_chains_and_all_other_animation_of_rigs_and_scene(what, mode, tmp_path):
    make_shot()
    shown = places_by_frame()
    assert (np.ptp([*shown.values()], axis=0).max(axis=1) > 0.2).all()
    rigs.go_to(4)
    path = export(what, tmp_path, evaluation_mode=mode)
    np.testing.assert_allclose(places(rigs.updated()), shown[4], atol=1e-5)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES
    getattr(bpy.ops.wm, f"{what}_import")(filepath=path, **IMPORTS[what])
    for frame, expected in shown.items():
        found = places(rigs.go_to(frame))
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=f"frame {frame}")


@pytest.mark.parametrize("subframes", [(), (0.25, 0.5)])
def test_what_keyed_properties_of_the_scene_drive_moves_in_renders(subframes, tmp_path):
    make_shot()
    shown = places_by_frame(subframes)
    rigs.go_to(4)
    rendered = render_frames(tmp_path, places, FRAMES, subframes)
    for frame, expected in shown.items():
        np.testing.assert_allclose(rendered[frame], expected, atol=1e-5, err_msg=f"frame {frame}")


def make_posed_shot() -> tuple[bpy.types.Object, bpy.types.PoseBone]:
    """Make a shot with unkeyed changes of a keyed property and bone, which a third arm follows."""
    ob, hand = make_shot(), rigs.make_rig(name="Hand")
    rigs.add_chain(hand, "Bone.1", ob, subtarget="Keyed.0")
    make_marker("Hand", hand, "Bone.1")
    rigs.key(ob, '["fist"]', {1: 0.0, 6: 1.0})
    rigs.go_to(4)
    bone = ob.pose.bones["Keyed.0"]
    bone.location, ob["fist"] = (0.3, -0.2, 0.1), 0.77
    rigs.tagged(ob)
    return ob, bone


@pytest.mark.parametrize("what", LEAVING)
def test_exports_leave_unkeyed_changes_of_keyed_bones_and_properties(what, tmp_path):
    ob, bone = make_posed_shot()
    before = places(rigs.updated())
    rotations = rigs.rotations(ob)
    export(what, tmp_path)
    np.testing.assert_allclose(places(rigs.updated()), before, atol=1e-6)
    np.testing.assert_allclose(bone.location, (0.3, -0.2, 0.1))
    assert ob["fist"] == pytest.approx(0.77)
    assert rigs.rotations(ob) == rotations
    for rig in (ob, bpy.data.objects["Hand"]):
        assert rig.chain_ik.chains[0].status.startswith("Reached")
    rigs.assert_stays(ob)


def test_a_rendered_animation_ends_with_what_is_keyed_as_without_chains(tmp_path):
    ob, bone = make_posed_shot()
    rigs.go_to(FRAMES[1])
    bone.location, ob["fist"] = (0.3, -0.2, 0.1), 0.77
    rigs.tagged(ob)
    render_frames(tmp_path, places, FRAMES)
    rigs.tagged(ob)
    np.testing.assert_allclose(bone.location, (3.0, 0.0, 0.0), atol=1e-6)
    assert ob["fist"] == pytest.approx(1.0)


def replace_in_render(folder: Path, *owners: bpy.types.Object) -> ReplacedValues:
    """Pose the keyed bone, replace values of objects by those of a render, and show its frame."""
    replaced, ob = ReplacedValues(), bpy.data.objects["Rig"]

    def replace(depsgraph: bpy.types.Depsgraph) -> None:
        ob.pose.bones["Keyed.0"].location, ob["fist"] = (0.3, -0.2, 0.1), 0.77
        update = Update(bpy.context.scene, depsgraph, is_new_frame=True)
        for owner in owners:
            replaced.copy_animated(owner, update)
        replaced.note_after({owner.session_uid for owner in owners})

    render_frames(folder, replace, (1, 1))
    rigs.go_to(1)
    return replaced


def test_what_others_have_set_since_is_not_given_back(tmp_path):
    ob, bone = make_posed_shot()
    replaced = replace_in_render(tmp_path, ob)
    bone.location = (0.1, 0.5, -0.1)
    assert ob["fist"] == 0.0
    replaced.give_back()
    np.testing.assert_allclose(bone.location, (0.1, 0.5, -0.1))
    assert ob["fist"] == pytest.approx(0.77)


def test_a_removed_armature_keeps_no_other_from_its_values(tmp_path):
    ob, bone = make_posed_shot()
    hand = bpy.data.objects["Hand"]
    replaced = replace_in_render(tmp_path, hand, ob)
    bpy.data.objects.remove(hand)
    replaced.give_back()
    np.testing.assert_allclose(bone.location, (0.3, -0.2, 0.1))
