"""A render engine that only records the state of the render's own graph on each frame."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import bpy

Reading = Callable[[bpy.types.Depsgraph], object]


@contextmanager
def reading_engine(read: Reading, subframes: Sequence[float]) -> Iterator[dict[float, object]]:
    """Register an engine that reads the graph of each rendered frame.

    Before the frame it visits the subframes, offsets from the frame, as engines do for motion blur.
    """
    readings: dict[float, object] = {}

    class RecordingEngine(bpy.types.RenderEngine):
        bl_idname = "CHAIN_IK_LOOKING"
        bl_label = "Looking"

        def render(self, depsgraph: bpy.types.Depsgraph) -> None:
            frame = depsgraph.scene.frame_current
            for offset in subframes:
                whole = int((frame + offset) // 1)
                self.frame_set(whole, subframe=frame + offset - whole)
                readings[frame + offset] = read(depsgraph)
            if subframes:
                self.frame_set(frame, subframe=0.0)
            readings[frame] = read(depsgraph)
            size = bpy.context.scene.render
            self.end_result(self.begin_result(0, 0, size.resolution_x, size.resolution_y))

    bpy.utils.register_class(RecordingEngine)
    try:
        yield readings
    finally:
        bpy.utils.unregister_class(RecordingEngine)


def render_frames(
    folder: Path, read: Reading, frames: tuple[int, int], subframes: Sequence[float] = ()
) -> dict[float, object]:
    """Render an animation of tiny pictures and return the reading of each frame."""
    scene = bpy.context.scene
    if scene.camera is None:
        scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        scene.collection.objects.link(scene.camera)
    scene.render.resolution_x = scene.render.resolution_y = 4
    scene.render.resolution_percentage = 100
    scene.render.filepath = str(folder / "frame")
    scene.frame_start, scene.frame_end = frames
    before = scene.render.engine
    with reading_engine(read, subframes) as readings:
        scene.render.engine = "CHAIN_IK_LOOKING"
        bpy.ops.render.render(animation=True)
        scene.render.engine = before
    assert len(readings) == (frames[1] - frames[0] + 1) * (1 + len(subframes))
    return readings
