"""Edits of scenes and view layers."""

from __future__ import annotations

import bpy

from tests.blender.edits.kinds.random_object_edits import NAMES
from tests.blender.edits.random_scene import FLAG, SEED, THING, edit, other_object, picked, place
from tests.blender.setups import rigs


def show(name: str) -> None:
    """Show a view layer of the scene, and update it."""
    bpy.context.window.view_layer = bpy.context.scene.view_layers[name]
    bpy.context.view_layer.update()


class LayerEdits:
    """What is done to scenes and view layers."""

    @edit(name=NAMES)
    def add_view_layer(self, name):
        scene = bpy.context.scene
        if len(scene.view_layers) < 3:
            scene.view_layers.new(name)

    @edit(i=THING)
    def switch_view_layer(self, i):
        bpy.context.view_layer.update()
        bpy.context.window.view_layer = picked(bpy.context.scene.view_layers, i)

    @edit(i=THING, j=THING, place_of=SEED, update=FLAG)
    def move_target_in_other_layer(self, i, j, place_of, update):
        """Show another view layer, move a target there, and show the first one again."""
        shown = bpy.context.view_layer.name
        show(picked(bpy.context.scene.view_layers, i).name)
        if (ob := other_object(j)) is not None:
            ob.location = place(place_of)
        if update:
            bpy.context.view_layer.update()
        show(shown)

    @edit(i=THING)
    def remove_view_layer(self, i):
        scene = bpy.context.scene
        if len(scene.view_layers) > 1:
            scene.view_layers.remove(picked(scene.view_layers, i))

    @edit(name=NAMES, with_objects=FLAG)
    def add_scene(self, name, with_objects):
        if len(bpy.data.scenes) > 2:
            return
        former, scene = bpy.context.scene, bpy.data.scenes.new(name)
        for ob in former.objects if with_objects else ():
            scene.collection.objects.link(ob)

    @edit(i=THING)
    def switch_scene(self, i):
        self.leave_modes()
        bpy.context.view_layer.update()
        bpy.context.window.scene = picked(bpy.data.scenes, i)
        if bpy.app.version < (5, 0):
            # Blender shows what is keyed, then, as soon as anything is written, where it stood
            # before: until the next frame.
            bpy.context.view_layer.update()
            rigs.go_to(bpy.context.scene.frame_current)

    @edit(i=THING)
    def remove_scene(self, i):
        if len(bpy.data.scenes) > 1:
            self.leave_modes()
            bpy.data.scenes.remove(picked(bpy.data.scenes, i))
