"""Measure what the overlay costs at a redraw of the viewport: 20 chains, and Rigify's human.

    PYTHONPATH=.. python -m benchmarks.blender.overlay_cost   in scripts/, the bpy module of 5.2

Redraws are those of a viewport without a window: the callbacks that Blender calls are called here,
into an image. Counted is the time of the processor until they return, in milliseconds, the least
of many: others use the machine as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# The module of Blender has to come before its parts.
import bpy

import blf  # isort: skip
import gpu

import blender_ik_addon
from benchmarks.blender.humans import Humans
from benchmarks.blender.rigs import Rigs
from benchmarks.blender.scenes import Scene
from blender_ik_addon.overlay import viewport
from blender_ik_addon.overlay.batches import Drawn, draw_lines, draw_scene
from blender_ik_addon.overlay.colours import Colours
from blender_ik_addon.overlay.dots import draw_dots
from blender_ik_addon.overlay.known import known
from blender_ik_addon.overlay.words import FONT
from blender_ik_addon.preferences.addon import PACKAGE
from examples.parts.rigs import add_empty

REDRAWS, SIZE, WIDTH = 300, (16, 16), 3.0


def measure(before: Callable[[], object]) -> tuple[float, float, float]:
    """Return milliseconds of a redraw after something has been done.

    Returns:
        Those until it draws, those of drawing, and those that Blender takes of these to draw the
        very same batches and words with nothing else done: without a graphics card that takes the
        time of the processor.
    """
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    image, took = gpu.types.GPUOffScreen(*SIZE), list[tuple[float, float, float]]()
    with bpy.context.temp_override(window=window, area=area, region=region), image.bind():
        for _ in range(REDRAWS):
            before()
            start = time.thread_time()
            found = viewport.find_drawn(bpy.context)
            middle = time.thread_time()
            viewport.draw_in_scene()
            viewport.draw_on_screen()
            end = time.thread_time()
            took.append((middle - start, end - middle, _draw_bare(found)))
    image.free()
    finding, drawing, bare = (1000.0 * min(each) for each in zip(*took, strict=True))
    return finding, drawing, bare


def _draw_bare(found: tuple[Drawn, Colours] | None) -> float:
    """Draw what is kept and do nothing else; return the seconds."""
    if found is None:
        return 0.0
    drawn, colours = found
    matrix = bpy.context.region_data.perspective_matrix
    gpu.state.blend_set("ALPHA")
    start = time.thread_time()
    draw_scene(drawn, SIZE, WIDTH)
    for _, circle in drawn.rims:
        draw_lines(circle, SIZE, WIDTH)
    if drawn.dots is not None:
        draw_dots(drawn.dots, matrix, 2.0 * WIDTH, 1.0, colours.back)
    for word in drawn.words:
        blf.draw(FONT, word.text)
    seconds = time.thread_time() - start
    gpu.state.blend_set("NONE")
    return seconds


def report(name: str, scene: Scene) -> None:
    """Measure and print what a scene costs, and unregister."""
    shown = bpy.context.scene.chain_ik.overlay

    def move() -> None:
        scene.move_on()
        bpy.context.view_layer.update()

    for words, is_on, before in (
        ("off", False, lambda: None),
        ("on, nothing has changed", True, lambda: None),
        ("on, all targets have moved", True, move),
        # The same work as the one before, without the solver's just before it.
        ("on, all is found anew", True, lambda: known.drawn.clear()),
    ):
        shown.show_overlay = is_on
        finding, drawing, bare = measure(before)
        print(
            f"{name}, {words}: {finding:.3f} ms to find what is drawn,"
            f" {drawing:.3f} ms to draw it, of which Blender {bare:.3f}"
        )
    blender_ik_addon.unregister()


def main() -> None:
    gpu.init()
    # As where it is installed: then colours and widths are a person's own.
    bpy.context.preferences.addons.new().module = PACKAGE
    for name, layout in (("1 armature", "1 x 20 x 2"), ("20 armatures", "20 x 1 x 2")):
        scene = Rigs("chains", layout)
        for rig in scene.rigs:
            joint = rig.chain_ik.chains[0].joints.add()
            joint.bone, joint.kind, joint.cone_angle = scene.names[0][1], "CONE", 1.0
            bpy.context.view_layer.objects.active = rig
            bpy.ops.object.mode_set(mode="POSE")
        bpy.context.view_layer.update()
        report(f"20 chains of {name}", scene)
    humans = Humans("chains", "1")
    (rig,) = humans.rigs
    # An arm with a pole is active.
    bpy.context.view_layer.objects.active = rig
    rig.chain_ik.active_index = 1
    rig.chain_ik.chains[1].pole_target = add_empty("Pole", (0.6, 1.0, 1.2), 1.0)
    bpy.context.view_layer.update()
    report("Rigify's human, five chains", humans)


if __name__ == "__main__":
    main()
