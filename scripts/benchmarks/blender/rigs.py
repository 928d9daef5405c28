"""Worker with rigs of equal limbs that are posed in one manner, with any setting.

    python -m benchmarks.blender.rigs MANNER LAYOUT      in a Python with the bpy module

A layout is "ARMATURES x LIMBS x BONES". Bones have length 1; two or more limbs have a root bone as
parent. Manners: chains (this project's, live), built-in, bare (nothing poses), floor (recorded
rotations are written before the update, nothing is solved), unsolved (a handler writes them;
objects have the settings of live chains, and it reads the targets as any live solver must: the time
of live chains without solving and deciding). Each manner has its own process, so that
no handlers or data of another one slow it down.
"""

from __future__ import annotations

import gc
import math
import tracemalloc

import bpy
import gpu
import numpy as np
import numpy.typing as npt

import blender_ik_addon
from benchmarks.blender import setting_rigs
from benchmarks.blender.scenes import LimbTarget, Scene, copy_rig, follow, run_worker
from benchmarks.blender.setting_rigs import bone_name, handle_name
from benchmarks.core.cases import Array, draw_targets, make_arc, parse_size
from benchmarks.setting_rows import LIMITED_ROWS, ROWS
from benchmarks.workers import time_round
from blender_ik_addon import handlers
from examples.parts.rigs import Bone, add_empty, add_rig, bones_along

SETS = 8
# Spacing of rigs in limbs' lengths, and factor that moves targets beyond the reach.
SPACING, BEYOND = 3.0, 1.35
# Blender stores positions as float32: a coordinate's error is up to half of this share.
FLOAT32 = 1.2e-7
ROTATION = "rotation_quaternion"


class Rigs(Scene):
    """A scene that is built again for each setting."""

    def __init__(self, manner: str, layout: str) -> None:
        super().__init__(manner)
        (self.count_of_rigs, self.count_of_limbs, self.bones), self.climb = parse_size(layout)
        # 5e-6 of a limb of two bones is a chain's default tolerance, 1e-5.
        self.tolerance = self.bones * (5e-6 if self.bones == 2 else 1e-4)
        self.memory = 0.0
        self.set_up("plain")

    def set_up(self, setting: str) -> None:
        """Build the scene, and the chains or constraints that pose it."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        (self.setting,) = (row for row in (*ROWS, *LIMITED_ROWS) if row.name == setting)
        self.step, is_ours = 0, self.manner == "chains"
        self.rigs = self._build(self.bones + self.setting.has_hand)
        targets = [
            add_empty(f"Target {i}", (0.0, 0.0, 0.0), 1.0)
            for i in range(self.count_of_rigs * self.count_of_limbs)
        ]
        tips = [bone_name(i, len(self.names[i]) - 1) for i in range(self.count_of_limbs)]
        pairs = [(rig, tip) for rig in self.rigs for tip in tips]
        self.limbs = [LimbTarget(*pair, target) for pair, target in zip(pairs, targets)]
        if is_ours:
            # Otherwise each added chain would cause a solve of all others.
            bpy.context.scene.chain_ik.use_live = False
        setting_rigs.apply_changes(self.rigs, self.names, self.setting.rig)
        bpy.context.view_layer.update()
        self.places = self._find_places()
        if is_ours:
            self._add_chains()
            bpy.context.scene.chain_ik.use_live = True
        elif self.manner == "built-in":
            for number, limb in enumerate(self.limbs):
                constraint = follow(*limb[:3], "built-in", self.bones)
                if self.setting.has_pole:
                    self._add_pole(constraint, limb.rig, number % self.count_of_limbs)
        # Each bone's rotation is rounded, and the errors of a chain add up like a random walk.
        rounding = 2.0 * FLOAT32 * (self.bones**1.5 + float(np.abs(self.places).max()))
        self.allowed, self.length = self.tolerance + rounding, float(self.bones)
        self.advance()
        self.update()

    def remembered(self) -> float:
        """Return the memory that Python and NumPy keep for live updates, KB per chain, cached."""
        if not self.memory:
            tracemalloc.start()
            for sign, self.manner in ((-1.0, "bare"), (1.0, "chains")):
                self.set_up("plain")
                for _ in range(3):
                    self.advance()
                    self.update()
                gc.collect()
                self.memory += sign * tracemalloc.get_traced_memory()[0] / 1024 / len(self.limbs)
        return self.memory

    def redrawn(self, is_moved: bool = False) -> float:
        """Return milliseconds of the overlay's draw callbacks, which draw into an image."""
        from blender_ik_addon.overlay import viewport

        gpu.init()
        bpy.context.view_layer.objects.active = self.rigs[0]
        if bpy.context.mode != "POSE":
            bpy.ops.object.mode_set(mode="POSE")
        self.update()
        window = bpy.context.window_manager.windows[0]
        area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
        region = next(region for region in area.regions if region.type == "WINDOW")
        override, image = bpy.context.temp_override, gpu.types.GPUOffScreen(16, 16)

        def move() -> None:
            self.advance() if is_moved else self.count()
            self.update()

        def draw() -> None:
            viewport.draw_in_scene()
            viewport.draw_on_screen()

        with override(window=window, area=area, region=region), image.bind():
            milliseconds = time_round(move, draw)
        image.free()
        return milliseconds

    def redrawn_anew(self) -> float:
        return self.redrawn(is_moved=True)

    def move(self, indices: range) -> None:
        if "handles" in self.setting.rig:
            places = self.places[self.step % SETS].tolist()
            for limb, place in zip(self.limbs, places):
                limb.target.location = np.subtract(place, limb.rig.location)
            return
        super().move(indices)
        for limb in self.limbs if self.setting.has_hand else ():
            # Turn the target for rows that use its rotation.
            limb.target.rotation_euler.x = 0.2 * (self.step % SETS)

    def _build(self, bones: int) -> list[bpy.types.Object]:
        self.names = [
            [bone_name(limb, i) for i in range(bones)] for limb in range(self.count_of_limbs)
        ]
        parent, bone_table = "", dict[str, Bone]()
        if self.count_of_limbs > 1:
            parent = "Root"
            bone_table[parent] = Bone((0.0, 0.0, 0.0), (0.0, 0.0, 0.5), bends_to=None)
        for names, root in zip(self.names, self._roots()):
            bone_table |= bones_along(names, make_arc(bones, self.climb) + root, parent, None)
        first = add_rig("Rig", bone_table)
        rigs = [first, *(copy_rig(first) for _ in range(self.count_of_rigs - 1))]
        columns = math.ceil(math.sqrt(len(rigs)))
        for i, rig in enumerate(rigs):
            # Around the origin, where float32 is most precise.
            place = np.array([i % columns, i // columns, columns // 2]) - columns // 2
            rig.location = SPACING * bones * place
        return rigs

    def _roots(self) -> Array:
        """Return the roots of the limbs in armature space, shape (limbs, 3)."""
        if self.count_of_limbs == 1:
            return np.zeros((1, 3))
        return np.array(
            [(0.5 * (-1) ** i, 0.0, 1.0 + 0.5 * (i // 2)) for i in range(self.count_of_limbs)]
        )

    def _find_places(self) -> Array:
        """Return the places of the targets in world space, shape (SETS, limbs, 3)."""
        if self.setting.targets == "of joints":
            return setting_rigs.draw_reachable_places(self.rigs, self.names, SETS)
        origins = np.array([rig.location for rig in self.rigs])[:, None]
        local = draw_targets(self.bones, SETS * len(self.limbs))
        local = local.reshape(SETS, *origins.shape[:1], -1, 3) + self._roots()
        if self.setting.targets == "beyond":
            local = BEYOND * local
        return (local + origins).reshape(SETS, -1, 3)

    def _add_chains(self) -> None:
        """Add live chains to the limbs, with the setting of the row."""
        row = self.setting
        for number, (rig, tip, target, _) in enumerate(self.limbs):
            limb = number % self.count_of_limbs
            solver = "TWO_BONE" if self.bones == 2 else "NEWTON"
            chain = follow(rig, tip, target, solver, self.bones + row.is_tree)
            chain.tolerance = self.tolerance
            for name, value in row.chain.items():
                # Only every second limb of a tree has a weight, since weights are relative.
                if name != "weight" or limb % 2:
                    setattr(chain, name, value)
            for name, value in row.force.items():
                setattr(chain.force, name, value)
            if row.joint:
                joint, values = chain.joints.add(), dict(row.joint)
                joint.bone = self.names[limb][0 if values.pop("on_first", False) else 1]
                for name, value in values.items():
                    setattr(joint, name, value)
            if row.has_pole:
                self._add_pole(chain, rig, limb)
            if row.has_hand and chain.use_tail:
                chain.bone = rig.data.bones[tip].parent.name
            if "handles" in row.rig:
                chain.target, chain.subtarget = rig, handle_name(limb)
                target = rig.pose.bones[handle_name(limb)]
            effector = chain.bone, "tail" if chain.use_tail else "head"
            if row.chain.get("follow_lead") == "ROOT":
                effector = bone_name(limb, 0), "head"
            self.limbs[number] = LimbTarget(rig, effector[0], target, effector[1])

    def _add_pole(self, chain: bpy.types.PropertyGroup, rig: bpy.types.Object, limb: int) -> None:
        """Add an empty beside a chain's root as its pole, or move the pole bone there."""
        root = rig.pose.bones[bone_name(limb, 0)].head
        way = root.__class__((0.4, -1.0, 0.3)).normalized()
        place = root + 2.0 * len(self.names[limb]) * way
        if "pole bones" in self.setting.rig:
            rig.pose.bones[handle_name(limb)].location = place
            chain.pole_target, chain.pole_subtarget = rig, handle_name(limb)
        else:
            chain.pole_target = add_empty("Pole", rig.matrix_world @ place, 1.0)


class ReplayedRigs(Rigs):
    """Rigs that replay the rotations of an earlier run of their chains."""

    is_floor = False

    def __init__(self, manner: str, layout: str) -> None:
        super().__init__("chains", layout)
        buffers = [np.empty(4 * len(rig.pose.bones), np.float32) for rig in self.rigs]
        self.buffers, self.matrices = buffers, np.empty(0, np.float32)
        self.recorded: list[list[npt.NDArray[np.float32]]] = []
        for self.step in range(SETS):
            self.move(range(len(self.limbs)))
            self.update()
            for rig, buffer in zip(self.rigs, buffers):
                rig.pose.bones.foreach_get(ROTATION, buffer)
            self.recorded.append([buffer.copy() for buffer in buffers])
        if manner == "unsolved":
            handlers.unregister()
            bpy.app.handlers.depsgraph_update_post.append(self._on_update)
        else:
            blender_ik_addon.unregister()
            self.manner = "bare"
            self.set_up("plain")
        self.is_floor = manner == "floor"

    def update(self) -> None:
        if self.is_floor:
            self._write()
        super().update()

    def _on_update(self, _scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        objects = depsgraph.objects
        matrices = np.empty(16 * len(objects), np.float32)
        objects.foreach_get("matrix_world", matrices)
        # Its own writing must not trigger another write.
        if not np.array_equal(matrices, self.matrices):
            self.matrices = matrices
            self._write()

    def _write(self) -> None:
        """Read, write and tag, as any solver in Python has to do."""
        for rig, buffer, rotations in zip(self.rigs, self.buffers, self.recorded[self.step % SETS]):
            rig.pose.bones.foreach_get(ROTATION, buffer)
            rig.pose.bones.foreach_set(ROTATION, rotations)
            # The cheapest tag that makes Blender evaluate a pose; our writer uses it as well.
            rig.update_tag(refresh={"OBJECT"})


def make_rigs(manner: str, layout: str) -> Rigs:
    return (ReplayedRigs if manner in ("floor", "unsolved") else Rigs)(manner, layout)


if __name__ == "__main__":
    run_worker(make_rigs)
