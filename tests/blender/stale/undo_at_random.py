"""Edit a file and undo at random: a program that ends with 0 unless Blender goes down.

    python -m tests.blender.stale.undo_at_random SEED STEPS KIND [HELD]

The file is what an undo is hardest on: an armature that is its own target, with keyed settings.
KIND is ``chains`` for what the extension does, ``properties`` for its settings without its
handlers, and ``constraints`` for Blender's own constraints without the extension: what goes down in
that one is not ours. After each undo and redo chains have to be solved.

HELD is the share of the edits after which a step of undo is pushed, 1 by default. With less, as
0.8, each KIND goes down at some seed: 4.2 and 5.2 do so with keys that no step holds.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable

import bpy

import blender_ik_addon
from tests.blender.setups import rigs

KINDS = ("chains", "properties", "constraints")
KEYED = ("influence", "pole_angle", "orient_weight", "soft_distance", "mute", "use_flip_bend")
NAMES = ("Rig", "Other")


class Edits:
    """The edits; each is a method, and takes what it needs from ``random``."""

    def __init__(self, seed: int, kind: str, held: float) -> None:
        self.random, self.held = random.Random(seed), held
        self.has_chains, self.is_solved = kind != "constraints", kind == "chains"

    def make(self) -> None:
        """Make two armatures: of each one bone is the target of its own chain."""
        for i, name in enumerate(NAMES):
            ob = rigs.make_rig(rigs.zigzag(4, seed=i), name=name)
            rigs.add_bones(ob, ((0.6, 0.5, 1.2), (0.6, 0.5, 1.5)), prefix="Control")
            self._follow(ob, "Bone.3", ob, "Control.0")
        bpy.context.view_layer.update()

    def _follow(self, ob: bpy.types.Object, bone: str, target: bpy.types.Object, sub: str) -> None:
        if self.has_chains:
            chain = rigs.add_chain(ob, bone, target, subtarget=sub)
            chain.name = bone
            return
        constraint = ob.pose.bones[bone].constraints.new("IK")
        constraint.target, constraint.subtarget = target, sub

    def _rig(self) -> bpy.types.Object:
        return bpy.data.objects[self.random.choice(NAMES)]

    def _followers(self, ob: bpy.types.Object) -> list[bpy.types.bpy_struct]:
        if self.has_chains:
            return list(ob.chain_ik.chains)
        return [each for bone in ob.pose.bones for each in bone.constraints]

    def move_control(self) -> None:
        bone = self._rig().pose.bones["Control.0"]
        bone.location = [self.random.uniform(-0.5, 0.5) for _ in range(3)]

    def pose_bone(self) -> None:
        bone = self._rig().pose.bones[f"Bone.{self.random.randrange(4)}"]
        bone.rotation_quaternion = [self.random.gauss(0, 1) for _ in range(4)]

    def move_rig(self) -> None:
        self._rig().location.x = self.random.uniform(-1, 1)

    def key_setting(self) -> None:
        ob = self._rig()
        followers = self._followers(ob)
        if not followers:
            return
        follower = self.random.choice(followers)
        name = self.random.choice(KEYED if self.has_chains else ("influence", "pole_angle"))
        value = getattr(follower, name)
        is_flag = isinstance(value, bool)
        setattr(follower, name, not value if is_flag else self.random.uniform(0, 1))
        frame = self.random.randrange(1, 20)
        ob.keyframe_insert(f"{follower.path_from_id()}.{name}", frame=frame)

    def key_control(self) -> None:
        ob = self._rig()
        frame = self.random.randrange(1, 20)
        ob.keyframe_insert('pose.bones["Control.0"].location', frame=frame)

    def forget_keys(self) -> None:
        self._rig().animation_data_clear()

    def set_frame(self) -> None:
        bpy.context.scene.frame_set(self.random.randrange(1, 20))

    def choose_target(self) -> None:
        ob, other = self._rig(), self._rig()
        for follower in self._followers(ob)[:1]:
            follower.target, follower.subtarget = other, "Control.0"

    def add_follower(self) -> None:
        ob = self._rig()
        if len(self._followers(ob)) < 3:
            bone = f"Bone.{self.random.randrange(4)}"
            self._follow(ob, bone, ob, "Control.0")

    def remove_follower(self) -> None:
        ob = self._rig()
        if not self.has_chains:
            for bone in ob.pose.bones:
                for each in list(bone.constraints)[1:]:
                    bone.constraints.remove(each)
        elif len(ob.chain_ik.chains) > 1:
            ob.chain_ik.chains.remove(1)

    def switch_mode(self) -> None:
        ob = self._rig()
        bpy.ops.object.mode_set(mode="OBJECT")
        rigs.enter(ob, self.random.choice(("OBJECT", "POSE", "EDIT")))

    def rename_bone(self) -> None:
        names = self._rig().data.bones
        if "Control.0" in names and bpy.context.mode != "EDIT_ARMATURE":
            names["Bone.1" if "Bone.1" in names else "Renamed"].name = (
                "Renamed" if "Bone.1" in names else "Bone.1"
            )

    def hide(self) -> None:
        ob = self._rig()
        ob.hide_viewport = not ob.hide_viewport

    def add_view_layer(self) -> None:
        scene = bpy.context.scene
        if len(scene.view_layers) < 3:
            scene.view_layers.new("Layer")

    def show_view_layer(self) -> None:
        bpy.context.window.view_layer = self.random.choice(list(bpy.context.scene.view_layers))

    def undo(self) -> None:
        for _ in range(self.random.randrange(1, 5)):
            bpy.ops.ed.undo()
            self._check_solved()

    def redo(self) -> None:
        for _ in range(self.random.randrange(1, 3)):
            bpy.ops.ed.redo()
            self._check_solved()

    def _check_solved(self) -> None:
        if self.is_solved:
            for name in NAMES:
                for chain in bpy.data.objects[name].chain_ik.chains:
                    assert not chain.status.startswith("Not solved yet"), chain.name

    def step(self) -> str:
        """Carry out one of them, half of the time an undo or redo, and return its name."""
        edits: list[Callable[[], None]] = [
            *(self.move_control, self.pose_bone, self.move_rig, self.key_setting),
            *(self.key_setting, self.key_control, self.forget_keys, self.set_frame),
            *(self.choose_target, self.add_follower, self.remove_follower, self.switch_mode),
            *(self.rename_bone, self.hide, self.add_view_layer, self.show_view_layer),
        ]
        past = [self.undo, self.undo, self.redo]
        edit = self.random.choice(past if self.random.random() < 0.4 else edits)
        try:
            edit()
        except (KeyError, RuntimeError):
            pass  # What it is for, or a step to undo, is not there.
        if edit in past:
            return edit.__name__
        # Undo also meets what is tagged and not evaluated yet.
        if self.random.random() < 0.8:
            bpy.context.view_layer.update()
        if self.random.random() < self.held:
            bpy.ops.ed.undo_push(message=edit.__name__)
        return edit.__name__


def main(seed: int, steps: int, kind: str, held: float = 1.0) -> None:
    """Run so many steps; print how many of each were made."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    if kind != "constraints":
        blender_ik_addon.register()
    if kind == "properties":
        for name in dir(bpy.app.handlers):
            functions = getattr(bpy.app.handlers, name)
            if isinstance(functions, list):
                functions[:] = [
                    each for each in functions if "blender_ik_addon" not in each.__module__
                ]
    edits = Edits(seed, kind, held)
    edits.make()
    bpy.ops.ed.undo_push(message="made")
    counted: dict[str, int] = {}
    for _ in range(steps):
        name = edits.step()
        counted[name] = counted.get(name, 0) + 1
    print(f"{kind}, seed {seed}: {steps} steps, {counted}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(float, sys.argv[4:]))
    sys.stdout.flush()
    os._exit(0)
