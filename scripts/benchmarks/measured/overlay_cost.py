"""Measure what the overlay costs at a redraw of the viewport: 20 chains, and Rigify's human.

    PYTHONPATH=.. python -m benchmarks.measured.overlay_cost   in scripts/, the bpy module of 5.2

Redraws are those of a viewport without a window: the callbacks that Blender calls are called here,
into an image. Counted is the time of the processor until they return, in
milliseconds, the least of many: others use the machine as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# The module of Blender has to come before its parts.
import bpy

import blf  # isort: skip
import gpu

import blender_ik_addon
from benchmarks.measured.blender_humans import Humans
from benchmarks.scenes import blender_scenes
from benchmarks.scenes.blender_scenes import Stage, add_empty, bone_name
from benchmarks.scenes.sizes import Layout
from blender_ik_addon.overlay import viewport
from blender_ik_addon.overlay.batches import Drawn, draw_lines, draw_scene
from blender_ik_addon.overlay.colours import Colours
from blender_ik_addon.overlay.dots import draw_dots
from blender_ik_addon.overlay.known import known
from blender_ik_addon.overlay.words import FONT
from blender_ik_addon.preferences.addon import PACKAGE

CHAINS, BONES, REDRAWS = 20, 2, 300
SIZE, WIDTH = (16, 16), 3.0


def build(rigs: int) -> Stage:
    """Return a scene of so many armature objects that share the chains."""
    stage = blender_scenes.build(Layout(rigs, CHAINS // rigs, BONES, 5e-6))
    blender_scenes.add_chains(stage)
    for rig in stage.armatures:
        joint = rig.chain_ik.chains[0].joints.add()
        joint.bone, joint.kind, joint.cone_angle = bone_name(0, 1), "CONE", 1.0
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    return stage


def measure(before: Callable[[int], None]) -> tuple[float, float, float]:
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
        for number in range(REDRAWS):
            before(number)
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


def build_human() -> Humans:
    """Return Rigify's human with five chains, an arm with a pole active; it registers all."""
    humans = Humans("chains", "1")
    (rig,) = humans.rigs
    bpy.context.view_layer.objects.active = rig
    pole = add_empty("Pole", (0.6, 1.0, 1.2))
    rig.chain_ik.active_index = 1
    rig.chain_ik.chains[1].pole_target = pole
    bpy.context.view_layer.update()
    return humans


def report(name: str, move: Callable[[int], None]) -> None:
    """Measure and print what a scene costs.

    Args:
        name: Of the scene.
        move: Moves all targets, at each redraw by its number.
    """
    shown = bpy.context.scene.chain_ik.overlay

    def moved(number: int) -> None:
        move(number)
        bpy.context.view_layer.update()

    for words, is_on, before in (
        ("off", False, lambda _: None),
        ("on, nothing has changed", True, lambda _: None),
        ("on, all targets have moved", True, moved),
        # The same work as the one before, without the solver's just before it.
        ("on, all is found anew", True, lambda _: known.drawn.clear()),
    ):
        shown.show_overlay = is_on
        finding, drawing, bare = measure(before)
        print(
            f"{name}, {words}: {finding:.3f} ms to find what is drawn,"
            f" {drawing:.3f} ms to draw it, of which Blender {bare:.3f}"
        )


def main() -> None:
    """Measure and print."""
    gpu.init()
    blender_ik_addon.register()
    # As where it is installed: then colours and widths are a person's own.
    bpy.context.preferences.addons.new().module = PACKAGE
    for rigs in (1, CHAINS):
        report(f"{CHAINS} chains of {rigs} armatures", build(rigs).move_targets)
    blender_ik_addon.unregister()
    humans = build_human()
    report("Rigify's human, five chains", lambda _: humans.move_on())
    blender_ik_addon.unregister()


if __name__ == "__main__":
    main()
