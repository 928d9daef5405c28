"""Alembic and USD exports: they evaluate a graph of their own, like renders."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs

FRAMES = range(1, 8)
SWING = {1: (0.7, 0.3, 1.2), 4: (-0.6, 0.9, 0.8), 7: (0.2, -0.7, 1.4)}


def make_block(ob: bpy.types.Object, bone: str) -> bpy.types.Object:
    """Return a triangle that hangs on the tail of a bone."""
    mesh = bpy.data.meshes.new(f"Block {bone}")
    mesh.from_pydata(((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)), (), ((0, 1, 2),))
    block = rigs.link(bpy.data.objects.new(f"Block {bone}", mesh))
    block.parent, block.parent_type, block.parent_bone = ob, "BONE", bone
    return block


def make_skin(ob: bpy.types.Object, points: dict[str, Sequence[float]]) -> bpy.types.Object:
    """Return a mesh of triangles, each at a point in armature space that a bone deforms."""
    corners = np.array(list(points.values()))[:, None] + ((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0))
    faces = np.arange(3 * len(points)).reshape(-1, 3).tolist()
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata(corners.reshape(-1, 3).tolist(), (), faces)
    skin = rigs.link(bpy.data.objects.new("Skin", mesh))
    for bone, face in zip(points, faces, strict=True):
        skin.vertex_groups.new(name=bone).add(face, 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = ob
    return skin


def make_scene() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return rig and target: a swinging arm with things on it, and a keyed bystander bone."""
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SWING)
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Bystander")
    path = 'pose.bones["Bystander.0"].location'
    rigs.key(ob, path, {1: (0, 0, 0), 7: (0.6, 0.3, -0.2)})
    make_block(ob, "Bone.1")
    make_block(ob, "Bystander.0")
    make_skin(ob, {"Bone.1": rigs.ARM[2]})
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    scene.frame_set(1)
    return ob, target


def first_corners() -> dict[str, list[np.ndarray]]:
    """Return where the first corner of each triangle lies in the world, frame by frame."""
    names = [ob.name for ob in bpy.data.objects if ob.type == "MESH"]
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for name in names:
            evaluated = bpy.data.objects[name].evaluated_get(depsgraph)
            corner = evaluated.matrix_world @ evaluated.data.vertices[0].co
            found[name].append(np.array(corner))
    bpy.context.scene.frame_set(1)
    return found


def export_alembic(path: str) -> None:
    bpy.ops.wm.alembic_export(filepath=path, start=FRAMES[0], end=FRAMES[-1])


def export_usd(path: str) -> None:
    bpy.ops.wm.usd_export(filepath=path, export_animation=True, export_armatures=False)


FORMATS = {
    "alembic": ("scene.abc", export_alembic, "alembic_import"),
    "usd": ("scene.usdc", export_usd, "usd_import"),
}


def matching(found: dict[str, list[np.ndarray]], name: str) -> np.ndarray:
    """Return the places of the imported triangle whose name was made from the given one."""
    key = name.replace(" ", "_").replace(".", "_")
    (value,) = (v for k, v in found.items() if key in k.replace(" ", "_").replace(".", "_"))
    return np.array(value)


# Some builds of Blender, such as Debian's, come without one or both of the formats.
AVAILABLE = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            not getattr(bpy.app.build_options, name), reason=f"this Blender is built without {name}"
        ),
    )
    for name in FORMATS
]


@pytest.mark.slow
@pytest.mark.parametrize("format_name", AVAILABLE)
def test_exports_hold_chains_and_all_other_animation_of_every_frame_and_leave_the_viewport(
    format_name, tmp_path
):
    file_name, export, import_name = FORMATS[format_name]
    ob, target = make_scene()
    expected = first_corners()
    for name, places in expected.items():
        assert np.ptp(places, axis=0).max() > 0.1, f"{name} does not move"
    rigs.go_to(3)
    before = rigs.pose(ob)
    path = str(tmp_path / file_name)
    export(path)
    bpy.context.view_layer.update()
    assert bpy.context.scene.frame_current == 3
    np.testing.assert_allclose(rigs.pose(ob), before, atol=3e-6)
    rigs.assert_reaches(ob, "Bone.1", target)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    getattr(bpy.ops.wm, import_name)(filepath=path)
    found = first_corners()
    for name, places in expected.items():
        np.testing.assert_allclose(matching(found, name), places, atol=1e-5, err_msg=name)
