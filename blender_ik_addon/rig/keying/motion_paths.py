"""Blender's motion paths, filled with what chains do.

Blender computes paths on a dependency graph of its own and calls no handlers for it: a bone that a
chain poses stands still there, or moves as its keys say.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..reading.channels import read_floats
from ..reading.dependencies import Dependencies
from ..reading.spec import Anchor
from .going_on import LiveRigs, going_on
from .playing import check_live, frame_kept, moments, played_unchanged

# Blender keeps paths in the space of the camera, and from this version on in its clip space.
IN_CLIP_SPACE = (5, 2, 0)
CHANGED = (
    "An object changed during the update, so no path was filled: press Update Motion Paths again."
)


@dataclass(frozen=True, eq=False)
class Traced:
    """An object whose motion path, or those of its bones, are to be filled.

    Attributes:
        object: The original object.
        bones: Names of the p bones with paths; one empty name for the object's own path.
        ranges: The frames of each path.
        are_heads: Whether a path is that of the bone's head, shape (p,); else of its tail.
        points: Where they are in world space by frame, or as the camera sees them, shape (p, 3).
    """

    object: bpy.types.Object
    bones: tuple[str, ...]
    ranges: tuple[range, ...]
    are_heads: Flags
    points: dict[int, Array] = field(default_factory=dict)

    @property
    def frames(self) -> range:
        """All from the first to the last."""
        starts, stops = zip(*((each.start, each.stop) for each in self.ranges), strict=True)
        return range(min(starts), max(stops))


def has_paths(candidate: bpy.types.Object) -> bool:
    """Return whether an object or its bones have motion paths."""
    return any(settings.has_motion_paths for settings in _settings(candidate))


def _settings(shown: bpy.types.Object) -> list[bpy.types.AnimVizMotionPaths]:
    """Return the settings of an object's own path, and of those of its bones if it has any."""
    owners = [shown] if shown.pose is None else [shown, shown.pose]
    return [owner.animation_visualization.motion_path for owner in owners]


def traced(objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> list[Traced]:
    """Return what has motion paths: objects, and the bones of objects.

    Args:
        objects: Original objects; those that are linked or not evaluated are left out.
        depsgraph: Of the view layer that is shown.
    """
    found = []
    for each in filter(has_paths, objects):
        if not each.is_editable or not each.evaluated_get(depsgraph).is_evaluated:
            continue
        bones = each.pose.bones if each.pose is not None else ()
        for owners in ([bone for bone in bones if bone.motion_path is not None], [each]):
            paths = [owner.motion_path for owner in owners if owner.motion_path is not None]
            if paths:
                names = tuple([owner.name if owner != each else "" for owner in owners])
                ranges = tuple(map(_frames, paths))
                are_heads = np.array([path.use_bone_head for path in paths])
                found.append(Traced(each, names, ranges, are_heads))
    return found


def frames_to_play(
    scene: bpy.types.Scene, paths: Iterable[Traced], rigs: LiveRigs
) -> Sequence[int]:
    """Return the frames to play: from the first of the scene where chains go on from their poses.

    Args:
        scene: To play.
        paths: What is to be filled; not empty.
        rigs: The armature objects of the scene with live chains.
    """
    frames = sorted({frame for each in paths for frame in each.frames})
    first = min(scene.frame_start, frames[0])
    return moments(frames, first, goes_on=bool(going_on(rigs)))


def fill(
    scene: bpy.types.Scene,
    paths: Sequence[Traced],
    rigs: Sequence[bpy.types.Object],
    frames: Sequence[int],
    evaluate: Callable[[], bpy.types.Depsgraph],
) -> Generator[int, None, int]:
    """Fill motion paths with where objects and bones are at each frame.

    Frame, poses and what chains remember are then as before, also when it is closed.

    Args:
        scene: To play; its chains are live.
        paths: To be filled.
        rigs: The armature objects of the scene with live chains.
        frames: To play, from ``frames_to_play``.
        evaluate: Returns the evaluated graph of the frame that is set.

    Yields:
        Each frame once it is read.

    Returns:
        How many paths have been filled.

    Raises:
        RigError: The message says what to do next.
    """
    check_live(scene)
    watched = list(dict.fromkeys([*rigs, *(each.object for each in paths)]))
    with frame_kept(scene, is_reading=True):
        for frame in played_unchanged(scene, watched, frames, CHANGED):
            for each in paths:
                if frame in each.frames:
                    each.points[frame] = _points(each, scene.camera, evaluate())
            yield frame
    filled: dict[bpy.types.Object, list[str]] = {}
    for each in paths:
        filled.setdefault(each.object, []).extend(_write(each))
    for owner, prints in filled.items():
        owner.chain_ik.filled_paths = " ".join(sorted(prints))
        # Viewports draw the paths of the evaluated object.
        owner.update_tag()
    return sum(map(len, filled.values()))


def unfilled(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Return those of objects that have paths which ``fill`` has not filled."""
    return [each for each in objects if has_paths(each) and list(_unfilled_owners(each))]


def are_wrong(shown: bpy.types.Object, moved: Mapping[bpy.types.Object, Set[str]]) -> bool:
    """Return whether chains move what has paths that ``fill`` has not filled.

    Args:
        shown: An object with such paths: its own, or those of its bones.
        moved: The bones that chains write, by armature object. What hangs on them moves as well:
            bones below, children, and whatever has a constraint that reads any of these. Drivers do
            not count, for Blender does not tell which bone they are for.
    """
    movers = Dependencies(use_drivers=False)
    for bone in _unfilled_owners(shown):
        movers.add_anchor(Anchor(shown, bone))
    return any(
        (rig.session_uid, bone) in movers.points for rig, bones in moved.items() for bone in bones
    )


def _unfilled_owners(shown: bpy.types.Object) -> Iterator[str]:
    """Yield the bones with paths that are not ours, an empty name for the object itself."""
    filled = set(shown.chain_ik.filled_paths.split())
    bones = shown.pose.bones if shown.pose is not None else ()
    for owner in (shown, *bones):
        path = owner.motion_path
        if path is not None and _print_of(path) not in filled:
            yield "" if owner == shown else owner.name


def _frames(path: bpy.types.MotionPath) -> range:
    # Blender's end is the frame after the last one.
    return range(path.frame_start, path.frame_end)


def _points(each: Traced, camera: bpy.types.Object | None, depsgraph: bpy.types.Depsgraph) -> Array:
    """Return where an object or its bones are, as Blender keeps it in paths; as ``Traced``."""
    evaluated = each.object.evaluated_get(depsgraph)
    to_world, points = np.array(evaluated.matrix_world), np.zeros((1, 3))
    if each.bones[0]:
        bones = evaluated.pose.bones
        rows = [bones.find(name) for name in each.bones]
        ends = [read_floats(bones, name, 3).reshape(-1, 3)[rows] for name in ("head", "tail")]
        points = np.where(each.are_heads[:, None], *ends)
    points = points @ to_world[:3, :3].T + to_world[:3, 3]
    settings = _settings(each.object)[bool(each.bones[0])]
    if camera is None or not settings.use_camera_space_bake:
        return np.asarray(points)
    return _seen(points, camera, depsgraph)


def _seen(points: Array, camera: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Array:
    """Return points (n, 3) as a camera sees them: Blender's option *Bake to Active Camera*."""
    evaluated, render = camera.evaluated_get(depsgraph), depsgraph.scene.render
    seen = np.c_[points, np.ones(len(points))] @ np.linalg.inv(np.array(evaluated.matrix_world)).T
    if bpy.app.version >= IN_CLIP_SPACE:
        to_clip = evaluated.calc_matrix_camera(
            depsgraph,
            x=render.resolution_x,
            y=render.resolution_y,
            scale_x=render.pixel_aspect_x,
            scale_y=render.pixel_aspect_y,
        )
        seen = seen @ np.array(to_clip).T
    return np.asarray(seen[:, :3] / seen[:, 3:], dtype=np.float64)


def _write(each: Traced) -> list[str]:
    """Write what has been noted to the paths, and return the fingerprints of these."""
    prints = []
    for row, (name, frames) in enumerate(zip(each.bones, each.ranges, strict=True)):
        path = (each.object.pose.bones[name] if name else each.object).motion_path
        if path is None or _frames(path) != frames:
            # Blender has cleared it meanwhile, or made it anew.
            continue
        points = np.array([each.points[frame][row] for frame in frames], dtype=np.float32)
        path.points.foreach_set("co", points.ravel())
        prints.append(_print_of(path))
    return prints


def _print_of(path: bpy.types.MotionPath) -> str:
    """Return a fingerprint of the points of a path: Blender keeps nothing else of who wrote it."""
    points = np.empty(3 * len(path.points), dtype=np.float32)
    path.points.foreach_get("co", points)
    return f"{zlib.crc32(points.tobytes()):08x}"
