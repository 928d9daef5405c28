"""Feet and hands kept where they stand: still in contacts, blended into the motion between them.

A correction leads from the motion of the clip to where a limb is to be. In contacts that is given;
between them its second difference is least, so that speeds stay continuous, and it fades away.
Lengths are those of a body of 1.8 m, and grow with it.

Source for the idea: Kovar, Schreiner and Gleicher, "Footskate Cleanup for Motion Capture Editing",
2002; Bollo, "Inertialization", 2018. Derived for this project.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Counts, Flags
from .banded import solve_least
from .contacts import HEIGHT, Planted, noise_of, runs

# In how many seconds a correction fades away far from contacts.
FADE = 0.2
# Corrections that bend by this, m/s^2 and radians/s^2, are told from noise: what is found of the
# noise on a motion says for how long a correction is smoothed where a contact ends.
BEND, TURN_BEND = 5.0, 20.0
# Frames; shorter, and the system to solve loses digits.
SHORTEST = 0.1
# In how many seconds before and after it is needed the hips give way.
GIVE = 0.25


@dataclass(frozen=True)
class Foot:
    """What stands, in the axes of a bone that does not bend in it, and in its units.

    Attributes:
        points: Where heel and toe are from the place that is moved, shape (2, 3).
        soles: How high heel and toe are above the floor when the whole foot stands on it, (2,).
    """

    points: Array
    soles: Array


@dataclass(frozen=True)
class Motion:
    """The way of a foot.

    Attributes:
        places: Where its moved place is, shape (F, 3).
        turns: That it shows, wxyz, shape (F, 4).
        spaces: What leads from the space in which it is rigid, its armature's, to the one of
            places: scaled unevenly, it shears the foot as that turns, shape (F, 3, 3).
    """

    places: Array
    turns: Array
    spaces: Array

    @property
    def own_turns(self) -> Array:
        """Rotations in the space in which the foot is rigid, shape (F, 3, 3)."""
        shown = rotation.matrix_from_quaternion(self.turns)
        return rotation.orientation(np.linalg.solve(self.spaces, shown))

    @property
    def axes(self) -> Array:
        """What leads from the axes of the foot's bone to the space of places, shape (F, 3, 3)."""
        axes: Array = self.spaces @ self.own_turns
        return axes

    def path(self, point: Array) -> Array:
        """Return the way of a point of the foot, shape (F, 3)."""
        path: Array = self.places + self.axes @ point
        return path


def hold(
    motion: Motion, kinds: Counts, foot: Foot, rate: float, height: float, *, has_floor: bool
) -> Motion:
    """Return the motion of a foot that keeps its place and turn in each contact.

    Heel or toe is the pivot where only it stands. Of a contact, the place is the one that moves the
    foot least, as is the turn while the whole foot stands.

    Args:
        motion: Of the clip.
        kinds: ``Planted`` numbers, shape (F,).
        foot: What stands.
        rate: Frames a second.
        height: Of the body.
        has_floor: Whether z = 0 is a floor that contacts lie on and nothing passes.
    """
    scale = height / HEIGHT
    motion = replace(motion, turns=_held_turns(motion, kinds, foot, rate, has_floor))
    is_held, goal = kinds != Planted.NONE, motion.places.copy()
    for start, end in runs(is_held):
        if is_held[start]:
            goal[start:end] = _stance(motion, kinds, foot, start, end, has_floor)
    faded = _faded(goal - motion.places, is_held, noise_of(motion.places), BEND * scale, rate)
    places = np.where(is_held[:, None], goal, motion.places + faded)
    motion = replace(motion, places=places)
    if has_floor:
        ends = zip(foot.points, foot.soles, strict=True)
        steep = _steepness(motion)
        below = np.max([sole * steep - motion.path(point)[:, 2] for point, sole in ends], axis=0)
        places[:, 2] += np.where(is_held, 0.0, np.maximum(0.0, below))
    return motion


def give_way(needed: Array, rate: float) -> Array:
    """Return how far the hips go down at each frame: at least as needed (F,), and smoothly."""
    half = max(1, round(GIVE * rate))

    def windows(values: Array) -> Array:
        padded = np.pad(values, half, mode="edge")
        return np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)

    # A mean of what is the most around each frame is never less than what that frame needs.
    weights = np.hanning(2 * half + 3)[1:-1]
    down: Array = windows(windows(needed).max(axis=1)) @ (weights / weights.sum())
    return down


def _steepness(motion: Motion) -> Array:
    """Return by how much heights grow from the space of a foot to the one of places, (F,)."""
    steepness: Array = np.linalg.norm(motion.spaces[:, 2], axis=1)
    return steepness


def _held_turns(motion: Motion, kinds: Counts, foot: Foot, rate: float, has_floor: bool) -> Array:
    """Return turns (F, 4) that stay the same while the whole foot stands."""
    turns = motion.turns
    is_held, goal = kinds == Planted.FOOT, turns.copy()
    for start, end in runs(kinds):
        if is_held[start]:
            own = rotation.nearest_quaternion(turns[start:end], turns[start])
            goal[start:end] = rotation.normalize(own.sum(axis=0))
    if has_floor:
        goal = _levelled(replace(motion, turns=goal), kinds, foot)
    off = rotation.vector_from_quaternion(rotation.multiply(goal, rotation.conjugate(turns)))
    steps = rotation.multiply(turns[1:], rotation.conjugate(turns[:-1]))
    ways = np.cumsum(rotation.vector_from_quaternion(steps), axis=0)
    faded = _faded(off, is_held, noise_of(ways), TURN_BEND, rate)
    found = rotation.multiply(rotation.quaternion_from_vector(faded), turns)
    found = np.where(is_held[:, None], goal, found)
    return _levelled(replace(motion, turns=found), kinds, foot) if has_floor else found


def _levelled(motion: Motion, kinds: Counts, foot: Foot) -> Array:
    """Return turns (F, 4) with heel and toe above the floor, and on it both of a whole foot."""
    # In the space where the foot is rigid.
    own, up = motion.own_turns, motion.spaces[:, 2] / _steepness(motion)[:, None]
    along, level = own @ (foot.points[1] - foot.points[0]), foot.soles[1] - foot.soles[0]
    height = np.einsum("fi,fi->f", along, up)
    across = along - height[:, None] * up
    flat = np.linalg.norm(across, axis=1)
    least, most = (
        np.where((kinds & stands) > 0, level, other)
        for stands, other in ((Planted.HEEL, -np.inf), (Planted.TOE, np.inf))
    )
    length = np.linalg.norm(along, axis=1)
    rise = np.clip(height, np.maximum(least, -length), np.minimum(most, length))
    share = np.sqrt(np.maximum(length**2 - rise**2, 0.0)) / np.where(flat > 0.0, flat, 1.0)
    goal = across * share[:, None] + rise[:, None] * up
    is_off = (rise != height) & (flat > 0.0)
    found = motion.turns.copy()
    swing = rotation.between(*(each[is_off] / length[is_off, None] for each in (along, goal)))
    turned = motion.spaces[is_off] @ rotation.matrix_from_quaternion(swing) @ own[is_off]
    found[is_off] = rotation.quaternion_from_shown(turned)
    return found


def _stance(
    motion: Motion, kinds: Counts, foot: Foot, start: int, end: int, has_floor: bool
) -> Array:
    """Return the places (k, 3) of a foot from its first frame on the ground to its last."""
    own, offsets = slice(start, end), [motion.path(each) - motion.places for each in foot.points]
    goal, side, pivot = np.zeros((end - start, 3)), -1, np.zeros(3)
    for first, last in runs(kinds[own]):
        kind = kinds[start + first]
        # A whole foot stands on what has been its pivot, so that nothing moves as it is put down.
        next_side = max(side, 0) if kind == Planted.FOOT else int(kind == Planted.TOE)
        if side < 0:
            pivot[2] = foot.soles[next_side] * _steepness(motion)[start]
        elif next_side != side:
            pivot = goal[first - 1] + offsets[next_side][start + first - 1]
        side = next_side
        goal[first:last] = pivot - offsets[side][own][first:last]
    shift = (motion.places[own] - goal).mean(axis=0)
    shift[2] *= not has_floor
    stance: Array = goal + shift
    return stance


def _faded(goal: Array, is_held: Flags, noise: float, bend: float, rate: float) -> Array:
    """Return corrections (F, 3) that are near to goals where these are held, and fade elsewhere.

    Args:
        goal: Shape (F, 3).
        is_held: Where they count, shape (F,).
        noise: How far they may be off there: this much of them is noise of the motion.
        bend: By how much they bend a second squared.
        rate: Frames a second.
    """
    near = max(SHORTEST, np.sqrt(noise / bend) * rate)
    weights = np.where(is_held, near**-4.0, (FADE * rate) ** -4.0)
    free = np.tile(np.eye(goal.shape[1]), (len(goal), 1, 1))
    return solve_least(free, weights, weights[:, None] * np.where(is_held[:, None], goal, 0.0))
