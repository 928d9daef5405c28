"""Motion paths of Blender, filled with the poses of chains.

Blender computes paths on its own dependency graph and calls no handlers for it: there, a bone that
a chain poses does not move, or moves as its keys say.
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
from .frame_dependence import LiveRigs, frame_dependent_rigs
from .playing import check_live, frames_to_evaluate, play_unchanged, preserve_frame

# Paths in the space of the camera are in its clip space from this version on.
IN_CLIP_SPACE = (5, 2, 0)
CHANGED = (
    "An object changed during the update, so no path was updated: press Update Motion Paths again."
)


@dataclass(frozen=True, eq=False)
class PathSet:
    """An object whose motion path, or those of its bones, are to be filled.

    Attributes:
        object: The original object.
        bones: Names of the p bones with paths; one empty name for the object's own path.
        ranges: Frame ranges of the p paths.
        are_heads: Whether a path is that of the bone's head and not of its tail, shape (p,).
        points: Points by frame, world space or the space of the camera, shape (p, 3).
    """

    object: bpy.types.Object
    bones: tuple[str, ...]
    ranges: tuple[range, ...]
    are_heads: Flags
    points: dict[int, Array] = field(default_factory=dict)

    @property
    def frames(self) -> range:
        """All frames from the first to the last one of any path."""
        return range(
            min(span.start for span in self.ranges), max(span.stop for span in self.ranges)
        )


def has_paths(candidate: bpy.types.Object) -> bool:
    """Return whether an object or its bones have motion paths."""
    return any(settings.has_motion_paths for settings in _settings(candidate))


def _settings(owner: bpy.types.Object) -> list[bpy.types.AnimVizMotionPaths]:
    """Return the settings of an object's path, and of its bones' paths if it has a pose."""
    holders = [owner] if owner.pose is None else [owner, owner.pose]
    return [holder.animation_visualization.motion_path for holder in holders]


def traced(objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> list[PathSet]:
    """Return the objects with motion paths, and those with bones that have motion paths.

    Linked objects, and ones that the shown graph does not evaluate, are left out.
    """
    result = []
    for path_set in filter(has_paths, objects):
        if not path_set.is_editable or not path_set.evaluated_get(depsgraph).is_evaluated:
            continue
        bones = path_set.pose.bones if path_set.pose is not None else ()
        for owners in ([bone for bone in bones if bone.motion_path is not None], [path_set]):
            paths = [owner.motion_path for owner in owners if owner.motion_path is not None]
            if paths:
                names = tuple([owner.name if owner != path_set else "" for owner in owners])
                ranges = tuple(map(_frames, paths))
                are_heads = np.array([path.use_bone_head for path in paths])
                result.append(PathSet(path_set, names, ranges, are_heads))
    return result


def frames_to_play(
    scene: bpy.types.Scene, paths: Iterable[PathSet], rigs: LiveRigs
) -> Sequence[int]:
    """Return the frames to play: from the scene's first if chains depend on earlier ones.

    There is at least one object with paths; ``rigs`` are the scene's armature objects with live
    chains.
    """
    frames = sorted({frame for path_set in paths for frame in path_set.frames})
    first = min(scene.frame_start, frames[0])
    return frames_to_evaluate(frames, first, goes_on=bool(frame_dependent_rigs(rigs)))


def fill(
    scene: bpy.types.Scene,
    paths: Sequence[PathSet],
    rigs: Sequence[bpy.types.Object],
    frames: Sequence[int],
    evaluate: Callable[[], bpy.types.Depsgraph],
) -> Generator[int, None, int]:
    """Fill motion paths at frames from ``frames_to_play``, and return how many.

    Each frame is yielded once it is read. Afterwards, also if the generator is closed early, frame,
    poses and the memory of chains are restored. ``rigs`` are the armature objects of the scene with
    live chains. ``evaluate`` returns the evaluated graph of the present frame.

    Raises:
        RigError: If live is off, or an object has changed.
    """
    check_live(scene)
    watched = list(dict.fromkeys([*rigs, *(path_set.object for path_set in paths)]))
    with preserve_frame(scene, is_reading=True):
        for frame in play_unchanged(scene, watched, frames, CHANGED):
            for path_set in paths:
                if frame in path_set.frames:
                    path_set.points[frame] = _points(path_set, scene.camera, evaluate())
            yield frame
    filled: dict[bpy.types.Object, list[str]] = {}
    for path_set in paths:
        filled.setdefault(path_set.object, []).extend(_write(path_set))
    for owner, fingerprints in filled.items():
        owner.chain_ik.filled_paths = " ".join(sorted(fingerprints))
        # Viewports draw the paths of the evaluated object.
        owner.update_tag()
    return sum(map(len, filled.values()))


def unfilled(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Return the objects with paths that ``fill`` has not filled."""
    return [owner for owner in objects if has_paths(owner) and list(_unfilled_owners(owner))]


def are_outdated(owner: bpy.types.Object, moved: Mapping[bpy.types.Object, Set[str]]) -> bool:
    """Return whether chains move objects or bones with paths that ``fill`` has not filled.

    ``moved`` has the names of the bones that chains write, by armature object. They also move bones
    below, children, and everything with a constraint that reads any of these. Drivers and skins do
    not count.
    """
    anchors = [Anchor(owner, bone) for bone in _unfilled_owners(owner)]
    movers = Dependencies.of(*anchors, use_drivers=False)
    return any(movers.has_any(rig, bones) for rig, bones in moved.items())


def _unfilled_owners(owner_object: bpy.types.Object) -> Iterator[str]:
    """Yield the bones with paths that ``fill`` has not filled; an empty name for the object."""
    filled_prints = set(owner_object.chain_ik.filled_paths.split())
    bones = owner_object.pose.bones if owner_object.pose is not None else ()
    for owner in (owner_object, *bones):
        path = owner.motion_path
        if path is not None and _fingerprint(path) not in filled_prints:
            yield "" if owner == owner_object else owner.name


def _frames(path: bpy.types.MotionPath) -> range:
    # Blender's end is the frame after the last one.
    return range(path.frame_start, path.frame_end)


def _points(
    path_set: PathSet, camera: bpy.types.Object | None, depsgraph: bpy.types.Depsgraph
) -> Array:
    """Return the points of an object or its bones in the space of Blender's paths, (p, 3)."""
    evaluated = path_set.object.evaluated_get(depsgraph)
    to_world, points = np.array(evaluated.matrix_world), np.zeros((1, 3))
    if path_set.bones[0]:
        bones = evaluated.pose.bones
        rows = [bones.find(name) for name in path_set.bones]
        ends = [read_floats(bones, name, 3).reshape(-1, 3)[rows] for name in ("head", "tail")]
        points = np.where(path_set.are_heads[:, None], *ends)
    points = points @ to_world[:3, :3].T + to_world[:3, 3]
    settings = _settings(path_set.object)[bool(path_set.bones[0])]
    if camera is None or not settings.use_camera_space_bake:
        return np.asarray(points)
    return _in_camera(points, camera, depsgraph)


def _in_camera(points: Array, camera: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Array:
    """Return points (n, 3) in camera space, as with Blender's option *Bake to Active Camera*."""
    evaluated, render = camera.evaluated_get(depsgraph), depsgraph.scene.render
    view = np.c_[points, np.ones(len(points))] @ np.linalg.inv(np.array(evaluated.matrix_world)).T
    if bpy.app.version >= IN_CLIP_SPACE:
        to_clip = evaluated.calc_matrix_camera(
            depsgraph,
            x=render.resolution_x,
            y=render.resolution_y,
            scale_x=render.pixel_aspect_x,
            scale_y=render.pixel_aspect_y,
        )
        view = view @ np.array(to_clip).T
    return np.asarray(view[:, :3] / view[:, 3:], dtype=np.float64)


def _write(path_set: PathSet) -> list[str]:
    """Write the collected points to the paths of an object; return the paths' fingerprints."""
    fingerprints = []
    for row, (name, frames) in enumerate(zip(path_set.bones, path_set.ranges, strict=True)):
        path = (path_set.object.pose.bones[name] if name else path_set.object).motion_path
        if path is None or _frames(path) != frames:
            # Blender has cleared or replaced the path meanwhile.
            continue
        points = np.array([path_set.points[frame][row] for frame in frames], dtype=np.float32)
        path.points.foreach_set("co", points.ravel())
        fingerprints.append(_fingerprint(path))
    return fingerprints


def _fingerprint(path: bpy.types.MotionPath) -> str:
    """Return a fingerprint of a path's points: Blender stores nothing else about their origin."""
    points = np.empty(3 * len(path.points), dtype=np.float32)
    path.points.foreach_get("co", points)
    return f"{zlib.crc32(points.tobytes()):08x}"
