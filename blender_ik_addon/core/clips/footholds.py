"""Feet and hands held still in contacts, and blended into the motion between contacts.

A correction moves a limb from the motion of the clip to its place. In contacts it is fixed; between
them its second difference is least, so that speeds stay continuous, and it fades away. Lengths are
those of a body of 1.8 m, and scale with it.

Source for the idea: Kovar, Schreiner and Gleicher, "Footskate Cleanup for Motion Capture Editing",
2002; Bollo, "Inertialization", 2018. Derived for this project.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Counts, Flags
from .contacts import HEIGHT, Planted, estimate_noise, runs
from .second_differences import solve_smooth

# Time in seconds in which a correction fades away far from contacts.
FADE_TIME = 0.2
# Accelerations of a correction that exceed noise, in m/s^2 and radians/s^2. With the noise of a
# motion they define how long its correction is smoothed where a contact ends.
BEND, TURN_BEND = 5.0, 20.0
# Least width of that smoothing, in frames; with less the linear system loses digits.
MIN_FRAMES_SMOOTHED = 0.1
# Time in seconds by which the hips go down before and after they must.
HIP_TIME = 0.25
# Time in seconds in which corrections begin and end where a clip continues beyond a range.
END_TIME = 0.25


@dataclass(frozen=True)
class Foot:
    """The rigid foot of a limb, in the axes and units of its bone.

    Attributes:
        points: Heel and toe relative to the moved place, shape (2, 3).
        soles: Heights of heel and toe above the floor while the whole foot is on it, shape (2,).
    """

    points: Array
    soles: Array


@dataclass(frozen=True)
class Motion:
    """The motion of a foot.

    Attributes:
        places: Positions of its moved place, shape (F, 3).
        turns: Visible rotations wxyz, shape (F, 4).
        spaces: Matrices from the space in which the foot is rigid, that of its armature, to the
            space of places, shape (F, 3, 3). Uneven scale shears the foot as it turns.
    """

    places: Array
    turns: Array
    spaces: Array

    @property
    def local_turns(self) -> Array:
        """Rotation matrices in the space in which the foot is rigid, shape (F, 3, 3)."""
        shown = rotation.matrix_from_quaternion(self.turns)
        return rotation.orientation(np.linalg.solve(self.spaces, shown))

    @property
    def axes(self) -> Array:
        """Matrices from the axes of the foot's bone to the space of places, shape (F, 3, 3)."""
        axes: Array = self.spaces @ self.local_turns
        return axes

    def path(self, point: Array) -> Array:
        """Return the path of a point of the foot, shape (F, 3)."""
        path: Array = self.places + self.axes @ point
        return path


def hold(
    motion: Motion, kinds: Counts, foot: Foot, rate: float, height: float, *, has_floor: bool
) -> Motion:
    """Return the motion of a foot that keeps its place and turn in each contact.

    The pivot is heel or toe if only one of them is on the ground. Each contact has the place that
    moves the foot least, and while the whole foot is on the ground the turn that turns it least.

    Args:
        motion: Motion of the foot in the clip.
        kinds: Parts of the foot on the ground, ``Planted`` numbers, shape (F,).
        foot: The foot.
        rate: Frames per second.
        height: Height of the body.
        has_floor: Whether z = 0 is a floor that contacts lie on and nothing passes.
    """
    scale = height / HEIGHT
    motion = replace(motion, turns=_hold_turns(motion, kinds, foot, rate, has_floor))
    is_held, goal = kinds != Planted.NONE, motion.places.copy()
    for start, end in runs(is_held):
        if is_held[start]:
            goal[start:end] = _place_contact(motion, kinds, foot, start, end, has_floor)
    faded = _fade(goal - motion.places, is_held, estimate_noise(motion.places), BEND * scale, rate)
    places = np.where(is_held[:, None], goal, motion.places + faded)
    motion = replace(motion, places=places)
    if has_floor:
        ends = zip(foot.points, foot.soles, strict=True)
        slope = _measure_steepness(motion)
        below = np.max([sole * slope - motion.path(point)[:, 2] for point, sole in ends], axis=0)
        places[:, 2] += np.where(is_held, 0.0, np.maximum(0.0, below))
    return motion


def smooth_drop(needed: Array, rate: float) -> Array:
    """Return a smooth descent of the hips at each frame, at least the needed one (F,)."""
    half = max(1, round(HIP_TIME * rate))

    def windows(values: Array) -> Array:
        padded = np.pad(values, half, mode="edge")
        return np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)

    # A mean of maxima around a frame is never less than what the frame needs.
    weights = np.hanning(2 * half + 3)[1:-1]
    down: Array = windows(windows(needed).max(axis=1)) @ (weights / weights.sum())
    return down


def fade_ends(frames: int, rate: float, continues: tuple[bool, bool]) -> Array:
    """Return the share of corrections at each frame of a range, shape (F,).

    It rises from 0 to 1 at an end beyond which the clip continues, with no speed at either value.

    Args:
        frames: Count of frames.
        rate: Frames per second.
        continues: Whether the clip continues before the range, and after it.
    """
    rows, share = np.arange(frames), np.ones(frames)
    for distance, is_open in zip((rows, rows[::-1]), continues, strict=True):
        if is_open:
            x = np.minimum(distance / (END_TIME * rate), 1.0)
            share *= x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    return share


def blend(before: Motion, after: Motion, share: Array) -> Motion:
    """Return a motion between two of one foot, by shares (F,) of the second."""
    turns = rotation.interpolate(before.turns, after.turns, share)
    is_after = (share == 1.0)[:, None]
    places = before.places + share[:, None] * (after.places - before.places)
    return replace(
        after,
        places=np.where(is_after, after.places, places),
        turns=np.where(is_after, after.turns, turns),
    )


def _measure_steepness(motion: Motion) -> Array:
    """Return the scale of heights from the space of a foot to the space of places, (F,)."""
    steepness: Array = np.linalg.norm(motion.spaces[:, 2], axis=1)
    return steepness


def _hold_turns(motion: Motion, kinds: Counts, foot: Foot, rate: float, has_floor: bool) -> Array:
    """Return turns (F, 4) that are constant while the whole foot is on the ground."""
    turns = motion.turns
    is_held, goal = kinds == Planted.FOOT, turns.copy()
    for start, end in runs(kinds):
        if is_held[start]:
            aligned = rotation.nearest_quaternion(turns[start:end], turns[start])
            goal[start:end] = rotation.normalize(aligned.sum(axis=0))
    if has_floor:
        goal = _level(replace(motion, turns=goal), kinds, foot)
    correction = rotation.vector_from_quaternion(rotation.multiply(goal, rotation.conjugate(turns)))
    steps = rotation.multiply(turns[1:], rotation.conjugate(turns[:-1]))
    angles = np.cumsum(rotation.vector_from_quaternion(steps), axis=0)
    faded = _fade(correction, is_held, estimate_noise(angles), TURN_BEND, rate)
    result = rotation.multiply(rotation.quaternion_from_vector(faded), turns)
    result = np.where(is_held[:, None], goal, result)
    return _level(replace(motion, turns=result), kinds, foot) if has_floor else result


def _level(motion: Motion, kinds: Counts, foot: Foot) -> Array:
    """Return turns (F, 4) with heel and toe above the floor, and both on it for a whole foot."""
    # These are in the space in which the foot is rigid.
    local, up = motion.local_turns, motion.spaces[:, 2] / _measure_steepness(motion)[:, None]
    along, level = local @ (foot.points[1] - foot.points[0]), foot.soles[1] - foot.soles[0]
    height = np.einsum("fi,fi->f", along, up)
    across = along - height[:, None] * up
    flat = np.linalg.norm(across, axis=1)
    least, most = (
        np.where((kinds & part) > 0, level, other)
        for part, other in ((Planted.HEEL, -np.inf), (Planted.TOE, np.inf))
    )
    length = np.linalg.norm(along, axis=1)
    rise = np.clip(height, np.maximum(least, -length), np.minimum(most, length))
    share = np.sqrt(np.maximum(length**2 - rise**2, 0.0)) / np.where(flat > 0.0, flat, 1.0)
    goal = across * share[:, None] + rise[:, None] * up
    is_off = (rise != height) & (flat > 0.0)
    result = motion.turns.copy()
    swing = rotation.between(*(vectors[is_off] / length[is_off, None] for vectors in (along, goal)))
    turned = motion.spaces[is_off] @ rotation.matrix_from_quaternion(swing) @ local[is_off]
    result[is_off] = rotation.quaternion_from_any_matrix(turned)
    return result


def _place_contact(
    motion: Motion, kinds: Counts, foot: Foot, start: int, end: int, has_floor: bool
) -> Array:
    """Return the places (k, 3) of a foot in a contact, from its first frame to its last."""
    rows, offsets = slice(start, end), [motion.path(point) - motion.places for point in foot.points]
    goal, side, pivot = np.zeros((end - start, 3)), -1, np.zeros(3)
    for first, last in runs(kinds[rows]):
        kind = kinds[start + first]
        # A whole foot keeps its pivot, so that nothing moves as the other end comes down.
        next_side = max(side, 0) if kind == Planted.FOOT else int(kind == Planted.TOE)
        if side < 0:
            pivot[2] = foot.soles[next_side] * _measure_steepness(motion)[start]
        elif next_side != side:
            pivot = goal[first - 1] + offsets[next_side][start + first - 1]
        side = next_side
        goal[first:last] = pivot - offsets[side][rows][first:last]
    shift = (motion.places[rows] - goal).mean(axis=0)
    shift[2] *= not has_floor
    places: Array = goal + shift
    return places


def _fade(goal: Array, is_held: Flags, noise: float, bend: float, rate: float) -> Array:
    """Return corrections (F, 3) that are near to goals in contacts, and fade elsewhere.

    Args:
        goal: Corrections in contacts, shape (F, 3).
        is_held: Frames in contacts, shape (F,).
        noise: Standard deviation of the noise of the motion, by which corrections may be off.
        bend: Acceleration of corrections that exceeds noise, per second squared.
        rate: Frames per second.
    """
    width = max(MIN_FRAMES_SMOOTHED, np.sqrt(noise / bend) * rate)
    weights = np.where(is_held, width**-4.0, (FADE_TIME * rate) ** -4.0)
    free = np.tile(np.eye(goal.shape[1]), (len(goal), 1, 1))
    return solve_smooth(free, weights, weights[:, None] * np.where(is_held[:, None], goal, 0.0))
