"""Let three creatures play: a snake and a neck pulled by a force, a rope that is dragged.

    python -m demo.creatures_scene out      in scripts/, with the bpy module

Started by demo.py. Writes creatures.json and creatures.blend into the folder. Lines that start with
MARK are for the person who waits.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import bpy
from mathutils import Vector

from common import blender_process
from demo.acts import ACTS, Act

MARK = "demo: "
# Creatures stand apart in the saved file.
APART = 60.0


def run(folder: Path, acts: tuple[Act, ...] = ACTS) -> dict[str, dict[str, object]]:
    """Fill an empty file, play, and save what was seen and the file.

    Args:
        folder: Takes creatures.json and creatures.blend.
        acts: What is played.
    """
    played, chains = {}, []
    for number, act in enumerate(acts):
        print(f"{MARK}playing {act.frames} frames: {act.name}", flush=True)
        rig = _build(act, Vector((APART * number, 0.0, 0.0)))
        played[act.name] = _play(act, rig)
        # The next one is timed alone.
        chains.append(rig.chain_ik.chains[0])
        chains[-1].mute = True
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "creatures.json").write_text(json.dumps(played), encoding="utf-8")
    for chain in chains:
        chain.mute = False
    path = folder / "creatures.blend"
    path.unlink(missing_ok=True)
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)
    return played


def _build(act: Act, place: Vector) -> bpy.types.Object:
    """Return an armature object with one live chain after a keyed target."""
    armature = bpy.data.armatures.new(act.name)
    rig = bpy.data.objects.new(act.name, armature)
    rig.location = place
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    above = None
    for number, (head, tail) in enumerate(zip(act.joints, act.joints[1:])):
        bone = armature.edit_bones.new(f"Bone {number}")
        bone.head, bone.tail, bone.parent = head, tail, above
        above = bone
    bpy.ops.object.mode_set(mode="POSE")
    target = bpy.data.objects.new(f"target of {act.name}", None)
    bpy.context.scene.collection.objects.link(target)
    for frame in range(1, act.frames + 1):
        target.location = place + Vector(act.target(frame))
        target.keyframe_insert("location", frame=frame)
    chain = rig.chain_ik.chains.add()
    chain.bone, chain.target = f"Bone {len(act.joints) - 2}", target
    _characterise(chain, act)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _characterise(chain: object, act: Act) -> None:
    """Give a chain its solver and its creature."""
    chain.solver = "FOLLOW" if act.name == "rope" else "FORCE"
    if act.name == "snake":
        bpy.ops.pose.chain_ik_creature_load(creature="SNAKE")
        # So limber a chain has many poses that are as good: it goes on from the one that it is in.
        chain.start_from = "CURRENT"
    elif act.name == "neck":
        bpy.ops.pose.chain_ik_creature_load(creature="DINOSAUR_NECK")
        chain.force.use_gradual = True


def _play(act: Act, rig: bpy.types.Object) -> dict[str, object]:
    """Return the bones on the frames to draw, milliseconds a frame, and the last residual."""
    scene, poses, times = bpy.context.scene, {}, []
    scene.frame_start, scene.frame_end = 1, max(each.frames for each in ACTS)
    for frame in range(1, act.frames + 1):
        start = time.perf_counter()
        scene.frame_set(frame)
        times.append(1e3 * (time.perf_counter() - start))
        if frame in act.drawn:
            bones = rig.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones
            poses[frame] = [[list(bone.head), list(bone.tail)] for bone in bones]
    residual = rig.chain_ik.chains[0].residual
    return {"poses": poses, "milliseconds": statistics.median(times), "residual": residual}


def main(folder: Path) -> None:
    """Run in a process of its own: an empty file, the add-on from the checkout."""
    import blender_ik_addon

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    blender_ik_addon.register()
    run(folder)


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[-1]).resolve())
