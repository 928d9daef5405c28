"""Limited chains for the tests of core, with an independent implementation of their mathematics.

Nothing here calls the package's mathematics: poses are built with matrices, and the distance of a
turn from its range is computed from its quaternion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from blender_ik_addon import core
from blender_ik_addon.core.kinematics.swing_twist import LOCKED_WIDTH
from tests.core.chains import turned_about, unit
from tests.helpers import Array

X, Y, Z = range(3)
FREE_AXES = {
    core.JointKind.BALL: (X, Y, Z),
    core.JointKind.SWING: (X, Z),
    core.JointKind.ELBOW_X: (X, Y),
    core.JointKind.ELBOW_Z: (Y, Z),
    core.JointKind.HINGE_X: (X,),
    core.JointKind.HINGE_Y: (Y,),
    core.JointKind.HINGE_Z: (Z,),
    core.JointKind.FIXED: (),
}


@dataclass(frozen=True)
class Rig:
    """A limited chain at rest, its root at the origin.

    Attributes:
        kinds: The kinds of joints, one a bone.
        low: Least degrees about X, Y and Z, -inf for no limit, shape (n, 3).
        high: Greatest degrees, inf for no limit, shape (n, 3).
        offsets: Axes of each bone in those of the previous bone, shape (n, 3, 3).
        segments: Vectors to the next head in the axes of the bone, shape (n, 3).
        mobility: Mobility about X, Y and Z, shape (n, 3).
    """

    kinds: tuple[core.JointKind, ...]
    low: Array
    high: Array
    offsets: Array
    segments: Array
    mobility: Array

    @property
    def length(self) -> float:
        """The sum of the segments' lengths."""
        return float(np.linalg.norm(self.segments, axis=1).sum())

    def options(self, solver: core.Solver, **settings: object) -> core.SolveOptions:
        """Return options; the tolerance is a share of the length."""
        return core.SolveOptions(solver, tolerance=1e-5 * self.length, **settings)

    def points(self, rotations: Array) -> Array:
        """Return the joints (..., n + 1, 3) of local rotations wxyz (..., n, 4)."""
        frames = self.frames(rotations)
        steps = [frame @ step for frame, step in zip(frames, self.segments, strict=True)]
        return np.cumsum(np.stack((np.zeros_like(steps[0]), *steps), axis=-2), axis=-2)

    def frames(self, rotations: Array) -> list[Array]:
        """Return the posed axes of all bones, (..., 3, 3)."""
        frame, frames = np.eye(3), []
        turns = self.offsets @ matrix(np.asarray(rotations))
        for bone in range(len(self.kinds)):
            frame = frame @ turns[..., bone, :, :]
            frames.append(frame)
        return frames

    def joints(self, start: Array | None = None) -> core.Joints:
        """Return the joints as the package's record, by default with the rest pose as start."""
        start = at_rest(len(self.kinds)) if start is None else start
        low, high = np.radians(self.low), np.radians(self.high)
        return core.Joints(self.kinds, self.offsets, start, low, high, self.mobility)

    def chain(self, start: Array | None = None) -> core.Chain:
        """Return the chain as the package's record, by default with the rest pose as start."""
        start = at_rest(len(self.kinds)) if start is None else start
        return core.Chain(self.points(start), joints=self.joints(start))

    def chains(self, count: int) -> core.Chains:
        """Return ``count`` copies of the chain at rest."""
        return self.with_starts(np.repeat(at_rest(len(self.kinds))[None], count, axis=0))

    def with_starts(self, starts: Array) -> core.Chains:
        """Return copies of the chain with start poses, local rotations wxyz (B, n, 4)."""
        joints = self.chain().as_batch().take(np.zeros(len(starts), dtype=np.int64)).joints
        return core.Chains(self.points(starts), joints=replace(joints, start_wxyz=starts))

    def random_pose(self, rng: np.random.Generator, share: float = 0.8) -> Array:
        """Return random local rotations inside a share of the ranges, wxyz (n, 4)."""
        return np.array([_random_rotation(self, i, rng, share) for i in range(len(self.kinds))])

    def violations(self, rotations: Array) -> Array:
        """Return the radians by which local rotations are out of their ranges, shape (n,)."""
        ranges = np.radians(self.low), np.radians(self.high)
        rows = zip(self.kinds, np.asarray(rotations), *ranges, strict=True)
        return np.array([violation(*row) for row in rows])

    def with_mobility(self, mobility: npt.ArrayLike) -> Rig:
        """Return the rig with other mobility, shape (n, 3) or (n,)."""
        mobility = np.asarray(mobility, float)
        rows = mobility if mobility.ndim == 2 else np.repeat(mobility[:, None], 3, axis=1)
        return replace(self, mobility=rows)


def matrix(wxyz: Array) -> Array:
    """Return the matrices (..., 3, 3) of quaternions (..., 4) of any length."""
    w, v = wxyz[..., 0, None, None], wxyz[..., 1:]
    cross = np.zeros((*v.shape, 3))
    cross[..., [2, 0, 1], [1, 2, 0]], cross[..., [1, 2, 0], [2, 0, 1]] = v, -v
    inner = (v * v).sum(axis=-1)[..., None, None]
    outer = v[..., :, None] * v[..., None, :]
    rotation: Array = (w * w - inner) * np.eye(3) + 2.0 * outer + 2.0 * w * cross
    return rotation / (w * w + inner)


def quaternion(turn: Array) -> Array:
    """Return the quaternion of a rotation matrix (3, 3) that turns by less than half a turn."""
    x, y, z = (turn[k, j] - turn[j, k] for j, k in ((Y, Z), (Z, X), (X, Y)))
    wxyz = np.array([turn.trace() + 1.0, x, y, z])
    return wxyz / np.linalg.norm(wxyz)


def multiply(a: Array, b: Array) -> Array:
    """Return the products (..., 4) of quaternions, which turn by ``b`` first."""
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    scalar = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(axis=-1, keepdims=True)
    return np.concatenate((scalar, vector), axis=-1)


def about(axis: int, angle: float) -> Array:
    """Return the quaternion of a turn in radians about X, Y or Z."""
    turn = np.zeros(4)
    turn[0], turn[1 + axis] = np.cos(angle / 2.0), np.sin(angle / 2.0)
    return turn


def at_rest(count: int) -> Array:
    """Return no rotations, shape (count, 4)."""
    return np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))


def swing_and_twist(wxyz: Array) -> tuple[float, float, float]:
    """Return X and Z of the vector part of the swing, and the twist about Y in radians."""
    w, x, y, z = wxyz
    cosine = np.hypot(w, y)
    if cosine == 0.0:
        # A swing of half a turn fits any twist; take zero.
        return x, z, 0.0
    twist = 2.0 * np.arctan2(y, w)
    swing = (w * x + y * z) / cosine, (w * z - x * y) / cosine
    return *swing, (twist + np.pi) % (2.0 * np.pi) - np.pi


def violation(kind: core.JointKind, wxyz: Array, low: Array, high: Array) -> float:
    """Return the radians by which a turn is out of the ranges of a joint."""
    sx, sz, twist = swing_and_twist(wxyz)
    free = FREE_AXES[kind]
    excess = [0.0]
    if Y in free:
        excess.append(_outside(twist, low[Y], high[Y]))
    else:
        excess.append(abs(twist))
    if X in free and Z in free:
        excess.append(_swing_outside(sx, sz, low, high))
    for axis, part, other in ((X, sx, sz), (Z, sz, sx)):
        if axis in free and len({X, Z} & set(free)) == 1:
            angle = 2.0 * np.arctan2(part, np.sqrt(max(0.0, 1.0 - part * part - other * other)))
            excess.append(_outside(angle, low[axis], high[axis]))
        elif axis not in free:
            excess.append(2.0 * abs(part))
    return float(max(excess))


def _outside(angle: float, low: float, high: float) -> float:
    # The range may be nearer the other way round the circle.
    turns = (angle, angle + 2.0 * np.pi, angle - 2.0 * np.pi)
    return float(min(max(0.0, low - a, a - high) for a in turns))


def _swing_outside(sx: float, sz: float, low: Array, high: Array) -> float:
    size = np.hypot(sx, sz)
    has_x, has_z = np.isfinite(high[X]), np.isfinite(high[Z])
    if not (has_x and has_z):
        excess = 0.0
        for axis, part, has in ((X, sx, has_x), (Z, sz, has_z)):
            if has:
                excess = _outside(2.0 * np.arcsin(np.clip(part, -1, 1)), low[axis], high[axis])
        return excess
    bound = np.sin(np.abs([(high if sx > 0 else low)[X], (high if sz > 0 else low)[Z]]) / 2.0)
    # A range this narrow locks its axis, and the other axis has its whole range.
    if (bound < LOCKED_WIDTH).any():
        excess_x, excess_z = max(0.0, abs(sx) - bound[0]), max(0.0, abs(sz) - bound[1])
        return float(2.0 * max(excess_x, excess_z))
    outside = np.hypot(sx / bound[0], sz / bound[1])
    if outside <= 1.0:
        return 0.0
    return float(2.0 * (np.arcsin(min(size, 1.0)) - np.arcsin(min(size / outside, 1.0))))


def _random_rotation(rig: Rig, bone: int, rng: np.random.Generator, share: float) -> Array:
    kind = rig.kinds[bone]
    low = np.radians(np.maximum(rig.low[bone], -170.0))
    high = np.radians(np.minimum(rig.high[bone], 170.0))
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    while True:
        angles = middle + share * half * rng.uniform(-1.0, 1.0, 3)
        x, y, z = (angles[axis] if axis in FREE_AXES[kind] else 0.0 for axis in range(3))
        swing = np.hypot(x, z)
        across = np.sinc(swing / (2.0 * np.pi)) / 2.0
        turn = np.array([np.cos(swing / 2.0), x * across, 0.0, z * across])
        if swing >= np.pi:
            continue
        # Limits of swings bound sines of half angles, so the edge is nearer than in angles.
        turn = multiply(turn, about(Y, y))
        inner = share if kind <= 1 else 1.0
        if violation(kind, turn, inner * low, inner * high + 1e-9 * (kind <= 1)) <= 0.0:
            return turn


def make_rig(
    bones: Sequence[tuple[core.JointKind, Sequence[tuple[float, float]]]],
    lengths: Sequence[float] | None = None,
    *,
    bends: Sequence[tuple[int, float]] | None = None,
    astray: float = 0.0,
    seed: int = 0,
) -> Rig:
    """Return a rig of bones along Y.

    Args:
        bones: Kind and ranges in degrees of each bone, in the order of its free axes; or none.
        lengths: Lengths of the bones, 1 by default.
        bends: Axis and degrees of each bone's turn at rest relative to the previous bone.
        astray: Greatest shift of the next head from the tail on an axis, a share of the length.
        seed: Seed of these random shifts.
    """
    count = len(bones)
    low, high = np.full((count, 3), -np.inf), np.full((count, 3), np.inf)
    for i, (kind, ranges) in enumerate(bones):
        for axis, edges in zip(FREE_AXES[kind], ranges, strict=bool(ranges)):
            low[i, axis], high[i, axis] = edges
    sizes = np.ones(count) if lengths is None else np.array(lengths, float)
    shifts = astray * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 3))
    offsets = np.tile(np.eye(3), (count, 1, 1))
    for i, (axis, angle) in enumerate(bends or ()):
        offsets[i] = turned_about(np.eye(3)[axis], np.radians(angle))
    return Rig(
        tuple(kind for kind, _ in bones),
        low,
        high,
        offsets,
        sizes[:, None] * (np.array([0.0, 1.0, 0.0]) + shifts),
        np.ones((count, 3)),
    )


def rolled_offsets(points: Array, rolls: Sequence[float]) -> Array:
    """Return the axes of bones in those of the bones before them, shape (n, 3, 3).

    The bones lead from point to point across X, and are rolled by radians about their lengths.
    """
    frames = []
    for along, roll in zip(unit(np.diff(points, axis=0)), rolls, strict=True):
        x = np.cos(roll) * np.eye(3)[0] - np.sin(roll) * np.cross(np.eye(3)[0], along)
        frames.append(np.stack((x, along, np.cross(x, along)), axis=1))
    return np.array([frames[0], *(a.T @ b for a, b in pairwise(frames))])


K = core.JointKind
THIRTY = ((-30, 30), (-20, 20), (-30, 30))
RIGS: dict[str, Callable[[], Rig]] = {
    # The rigs that the issue names.
    "arm": lambda: make_rig(
        [
            (K.BALL, ((-90, 90), (-60, 60), (-90, 90))),
            (K.HINGE_X, ((0, 150),)),
            (K.SWING, ((-40, 40), (-60, 60))),
        ],
        (1.0, 0.9, 0.3),
    ),
    "tail": lambda: make_rig([(K.BALL, THIRTY)] * 6),
    "ten_hinges": lambda: make_rig([(K.HINGE_X, ((-40, 40),)), (K.HINGE_Z, ((-40, 40),))] * 5),
    "spider_leg": lambda: make_rig(
        [
            (K.HINGE_Y, ((-70, 70),)),
            (K.HINGE_X, ((-60, 60),)),
            (K.HINGE_X, ((-120, 0),)),
            (K.HINGE_X, ((-90, 10),)),
        ],
        (0.2, 1.0, 1.2, 0.8),
        bends=((X, 0), (X, 60), (X, -30), (X, -20)),
    ),
    "finger": lambda: make_rig(
        [
            (K.HINGE_Z, ((-20, 20),)),
            (K.HINGE_X, ((-20, 90),)),
            (K.HINGE_X, ((0, 110),)),
            (K.HINGE_X, ((0, 80),)),
        ],
        (0.05, 1.0, 0.6, 0.45),
    ),
    # Other rigs.
    "mixed_lengths": lambda: make_rig(
        [
            (K.BALL, ((-60, 80), (-30, 30), (-45, 70))),
            (K.ELBOW_X, ((0, 130), (-40, 40))),
            (K.HINGE_Z, ((-50, 50),)),
            (K.SWING, ((-40, 30), (-30, 40))),
            (K.BALL, ((-30, 30), (-90, 90), (-30, 30))),
        ],
        (2.0, 0.3, 1.5, 0.2, 0.8),
    ),
    "bent_rest": lambda: make_rig(
        [(K.BALL, THIRTY), (K.HINGE_X, ((-40, 60),)), (K.HINGE_Z, ((-60, 40),)), (K.BALL, THIRTY)],
        bends=((X, 40), (X, -80), (Z, 70), (X, 50)),
    ),
    "offset_bones": lambda: make_rig(
        [(K.BALL, ((-70, 70),) * 3), (K.HINGE_X, ((-10, 120),)), (K.SWING, ((-45, 45),) * 2)] * 2,
        astray=0.4,
        seed=3,
    ),
    "one_sided": lambda: make_rig(
        [(K.SWING, ((0, 50), (-60, 0)))]
        + [(K.HINGE_X, ((10, 70),)), (K.HINGE_Z, ((-70, -10),))] * 2
    ),
    "planar_four": lambda: make_rig([(K.HINGE_Z, ((-80, 80),))] * 4),
    "one_limit_swing": lambda: make_rig(
        [(K.SWING, ()), (K.ELBOW_Z, ((-30, 30), (-100, 10))), (K.SWING, ((-20, 20), (-180, 180)))]
    ),
    "fixed_between": lambda: make_rig(
        [
            (K.BALL, ()),
            (K.FIXED, ()),
            (K.HINGE_X, ((0, 150),)),
            (K.FIXED, ()),
            (K.HINGE_X, ((-60, 60),)),
        ],
        bends=((X, 0), (X, 20), (X, 0), (Z, -30), (X, 0)),
    ),
}


def knee() -> Rig:
    """Return a leg whose knee turns by 0 to 150 degrees, and is at rest bent 5 the other way."""
    return make_rig([(K.BALL, ()), (K.HINGE_X, ((0, 150),))], bends=((X, 0), (X, -5)))


def targets_of(rig: Rig, count: int, rng: np.random.Generator, share: float = 0.8) -> Array:
    """Return tips of random poses inside the ranges, shape (count, 3)."""
    return np.array([rig.points(rig.random_pose(rng, share))[-1] for _ in range(count)])


def poles_of(rig: Rig, count: int, rng: np.random.Generator) -> Array:
    """Return points in random directions from the root."""
    return 1.5 * rig.length * unit(rng.normal(size=(count, 3)))


def poles_beside(targets: Array, length: float, rng: np.random.Generator) -> Array:
    """Return points beside the middles of lines from the root to targets, at right angles."""
    aside = unit(np.cross(targets, rng.normal(size=targets.shape)))
    return targets / 2.0 + length * aside


def misses(rig: Rig, solutions: core.Solutions | Sequence[core.Solution], targets: Array) -> Array:
    """Return the distances of the posed tips from the targets, as shares of the length."""
    turns = np.array([solution.local_rotations_wxyz for solution in solutions])
    tips = rig.points(turns)[:, -1]
    return np.linalg.norm(tips - targets, axis=1) / rig.length


def worst_violation(rig: Rig, solutions: core.Solutions | Sequence[core.Solution]) -> float:
    """Return the largest of all violations in radians."""
    return max(float(rig.violations(s.local_rotations_wxyz).max()) for s in solutions)
