"""Renders: chains right on each frame, everything else that is animated keeps moving."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.renders import looking, render_frames

FRAMES = (3, 7)
SWING = {1: (0.7, 0.3, 1.2), 5: (-0.6, 0.9, 0.8), 9: (0.2, -0.7, 1.4)}
SUBFRAMES = (0.5, -0.25, 0.25)
"""Motion blur looks at them before the frame itself."""
BYSTANDER = 'pose.bones["Bystander.0"]'


def in_viewport(read, frames=FRAMES, subframes=()) -> dict[float, object]:
    """Read frames by frame_set, and go back to the frame before."""
    scene = bpy.context.scene
    present = scene.frame_current
    seen = {}
    for frame in range(frames[0], frames[1] + 1):
        for offset in (*subframes, 0.0):
            whole = int((frame + offset) // 1)
            scene.frame_set(whole, subframe=frame + offset - whole)
            seen[frame + offset] = read(bpy.context.view_layer.depsgraph)
    scene.frame_set(present)
    return seen


def make_busy_rig() -> bpy.types.Object:
    """Return a swinging arm, and a bystander bone on which every kind of animation acts."""
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SWING)
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Bystander", modes="XYZ")
    bone = ob.pose.bones["Bystander.0"]
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Free")
    ob.pose.bones["Free.0"].rotation_quaternion = (0.8, 0.6, 0, 0)
    ob["hand"], ob["strength"] = 3.5, 0.0
    bone["grip"] = 0.0
    ob["pair"] = (0.0, 0.0)
    limit = bone.constraints.new("LIMIT_LOCATION")
    limit.use_max_x, limit.max_x = True, -1.0
    rigs.key(ob, '["strength"]', {1: 0.0, 9: 1.0})
    rigs.key(ob, BYSTANDER + '["grip"]', {1: 0.0, 9: 2.0})
    rigs.key(ob, BYSTANDER + '.constraints["Limit Location"].influence', {1: 0.0, 9: 1.0})
    for name, end in (("location", 0.8), ("rotation_euler", 0.7), ("scale", 1.5)):
        start = 1.0 if name == "scale" else 0.0
        rigs.key(ob, f"{BYSTANDER}.{name}", {1: (start,) * 3, 9: (end, 0.2, -end)})
        rigs.key(ob, name, {1: (start,) * 3, 9: (end * 0.2, start, 0.5 * end)})
    driver = ob.driver_add('["pair"]', 1).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = ob, '["strength"]'
    driver.expression = f"{variable.name} * 2"
    return ob


READINGS = {
    "a keyed bone": lambda ob: np.array(ob.pose.bones["Bystander.0"].matrix),
    "a keyed bone's channels": lambda ob: np.array(
        (ob.pose.bones["Bystander.0"].location, ob.pose.bones["Bystander.0"].rotation_euler)
    ),
    "a keyed custom property": lambda ob: ob["strength"],
    "a keyed custom property of a bone": lambda ob: ob.pose.bones["Bystander.0"]["grip"],
    "a driven custom property": lambda ob: ob["pair"][1],
    "a keyed constraint": lambda ob: ob.pose.bones["Bystander.0"].constraints[0].influence,
    "the keyed object": lambda ob: np.array(ob.matrix_world),
    "a bone that nobody has keyed": lambda ob: np.array(ob.pose.bones["Free.0"].matrix),
    "a property that nobody has keyed": lambda ob: ob["hand"],
}


@pytest.mark.parametrize("is_in_nla", [False, True])
def test_chains_and_other_animation_move_in_renders_with_motion_blur_and_nothing_after(
    is_in_nla, tmp_path
):
    ob = make_busy_rig()
    rigs.key(ob, "chain_ik.chains[0].mute", {1: False, 4: True, 6: False})
    if is_in_nla:
        strip_of(ob)

    def read(depsgraph):
        found = [reading(ob.evaluated_get(depsgraph)) for reading in READINGS.values()]
        found.append(rigs.pose(ob, depsgraph))
        return np.concatenate([np.ravel(each) for each in found])

    moves = np.ptp(list(in_viewport(read, frames=(1, 9)).values()), axis=0)
    assert (moves > 0.01).sum() >= len(READINGS)
    assert ob["hand"] == 3.5
    assert ob.pose.bones["Free.0"].rotation_quaternion[1] == pytest.approx(0.6)
    bpy.context.scene.render.use_motion_blur = True
    expected = in_viewport(read, subframes=SUBFRAMES)
    bpy.context.scene.frame_set(2)
    before = (
        read(bpy.context.view_layer.depsgraph),
        [np.ravel(own(ob)) for own in READINGS.values()],
    )
    found = render_frames(tmp_path, read, FRAMES, SUBFRAMES)
    assert bpy.context.scene.frame_current == 2
    after = read(bpy.context.view_layer.depsgraph), [np.ravel(own(ob)) for own in READINGS.values()]
    np.testing.assert_allclose(after[0], before[0], atol=3e-6)
    np.testing.assert_allclose(np.hstack(after[1]), np.hstack(before[1]), atol=3e-6)
    for frame, value in expected.items():
        np.testing.assert_allclose(found[frame], value, atol=3e-6, err_msg=f"frame {frame}")


def test_scene_strips_render_what_chains_do(tmp_path):
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SWING)
    shot = bpy.context.scene
    shot.camera = rigs.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    cut = bpy.data.scenes.new("Cut")
    editor = cut.sequence_editor_create()
    (editor.strips if hasattr(editor, "strips") else editor.sequences).new_scene("Shot", shot, 1, 1)
    cut.frame_start, cut.frame_end = FRAMES
    cut.render.filepath = str(tmp_path / "cut")
    for scene in (cut, shot):
        scene.render.resolution_x = scene.render.resolution_y = 4

    def gap(depsgraph):
        return rigs.tail(ob, "Bone.1", depsgraph) - rigs.position(target, depsgraph)

    with looking(gap, ()) as seen:
        shot.render.engine, before = "CHAIN_IK_LOOKING", shot.render.engine
        bpy.ops.render.render(animation=True, scene="Cut")
        shot.render.engine = before
    assert sorted(seen) == list(range(FRAMES[0], FRAMES[1] + 1))
    np.testing.assert_allclose(list(seen.values()), 0.0, atol=rigs.REACHED)
