"""The bend of a chain: its chord, the side of its bulge, and the rotation of the whole chain.

All formulas take numbers; points are relative to the root. Vectors of many chains may be arrays
(3, B).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.angles import wind_angle
from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Condition, Number
from ..algebra.quaternions import Quaternion, rotate
from ..algebra.vectors import (
    MIN_LENGTH,
    ZERO,
    Vector,
    add,
    choose,
    cross,
    dot,
    norm,
    perpendicular,
    reject,
    scale,
    smoothstep,
    subtract,
    unit,
)
from .swing_twist import clamp_angle, find_middle

# A start pose with a smaller mean offset from the chord, as a share of the chain's length, counts
# as straight: its side would be noise of float32 storage (1e-7 per bone). If this were ten times
# larger, slightly bent limbs would lose their side.
MIN_BULGE = 1e-5
# A bulge smaller than this share of the reach has no side.
MIN_BULGE_SHARE = 1e-6
# Where the bulge is below this share of the reach, the side of the first bone counts as well. In a
# straight limb it counts as a bulge of this size. With half as much, a leg whose knee turns 12
# degrees off the plane of its bend turns by 11 degrees while its target moves by 4 mm.
SLIGHT_BULGE_SHARE = 0.2
# It begins to count where the target is at the first share of the reach, and counts fully from the
# second on.
EXTENDING, EXTENDED = 0.96, 0.98
# A target nearer to the root than this share of the chain's length has no direction from it.
MIN_TARGET_DISTANCE = 1e-9
# Sines between pole and chord. Below the first, the pole gives no side; above the second, only it
# does. Between them both sides are blended: the elbow turns quickly but does not pop.
MIN_POLE_SINE = math.sin(math.radians(3.0))
FULL_POLE_SINE = math.sin(math.radians(10.0))
# Below this angle, in radians, two sides are opposite up to rounding and turn the positive way.
OPPOSITE_ANGLE = -math.pi + 1e-3
# Half of a target's twist counts up to this angle, in radians. From there to half a turn the part
# that counts falls to zero, so that a target can turn round and round without a jump.
MAX_HALVED_TWIST = 2.0 * math.pi / 3.0
# A target's twist about the chord is well defined up to a swing by a right angle, and undefined at
# half a turn: the squared cosine of half the right angle.
WELL_DEFINED = 0.5


class Pole(NamedTuple):
    """A pole: whether it is set, its position relative to the root, and radians about the chord.

    Chains that keep their start turn toward it only as far as it defines the side, so that a second
    solve from the result changes nothing, whatever the angle.
    """

    is_set: Condition
    position: Any
    angle: Number
    keeps_start: bool = False


class Base(NamedTuple):
    """The bones before the first that bends: a column that slews, and fixed bones.

    Vectors are relative to the root; angles are radians about the axis.

    Attributes:
        bone: Index of the bone that slews.
        head: Head of the first bone that bends.
        tip: Place of the effector.
        pivot: A point of the axis.
        axis: Unit vector.
        angle: Angle of the start pose.
        low: Smallest angle.
        high: Greatest angle.
    """

    bone: int
    head: Any
    tip: Any
    pivot: Any
    axis: Any
    angle: Number
    low: Number
    high: Number


class Facing(NamedTuple):
    """How a limb faces the side of its pole, and the derivatives of the angle past it.

    Components are those along the side, and those across it and the chord.

    Attributes:
        angle: Radians about the chord, zero for limbs without a side.
        along: Component of what should face the side.
        across: The other component.
        inverse_square: One by the sum of their squares, zero for limbs without a side.
        by_bulge: Derivatives of the angle by the components of the bulge.
        by_carried: Derivatives by those of the direction that the first bone carries.
    """

    angle: Number
    along: Number
    across: Number
    inverse_square: Number
    by_bulge: tuple[Number, Number]
    by_carried: tuple[Number, Number]


def measure_facing(
    m: Arithmetic,
    bulge: tuple[Number, Number],
    carried: tuple[Number, Number],
    reach: Number,
    distance: Number,
) -> Facing:
    """Return how a limb faces its side: its bulge, and where that vanishes its first bone.

    A knee that does not bend exactly about its axis keeps a small bulge to another side in the
    straight leg. If that had to face the pole, the leg would turn by a right angle there.

    Args:
        m: Arithmetic of the numbers.
        bulge: Components of the vector from the chord to the mean of the inner joints.
        carried: Components of the unit vector that the first bone carries, and that pointed to the
            limb's side at the start. It does not count where it points away from the side.
        reach: Length of the limb.
        distance: Distance of its target from its root.

    Source: derived for this project, tested in tests/core/kinematics/test_pole.py.
    """
    (bulge_along, bulge_across), (along, across) = bulge, carried
    slight, toward = SLIGHT_BULGE_SHARE * reach, m.maximum(along, 0.0)
    square = (bulge_along * bulge_along + bulge_across * bulge_across) / (slight * slight)
    fading = m.maximum(1.0 - square, 0.0)
    extension = smoothstep(m, distance, EXTENDING * reach, EXTENDED * reach)
    most = extension * slight * fading * fading
    strength = most * toward
    faced_along, faced_across = bulge_along + strength * along, bulge_across + strength * across
    square = faced_along * faced_along + faced_across * faced_across
    least = MIN_BULGE_SHARE * reach
    inverse = m.where(square > least * least, m.divide(1.0, square), 0.0)
    by_along, by_across = -faced_across * inverse, faced_along * inverse
    by_strength = by_along * along + by_across * across
    shrinking = -4.0 * extension * by_strength * toward * fading / slight
    growing = m.where(along > 0.0, by_strength * most, 0.0)
    return Facing(
        m.where(inverse > 0.0, m.atan2(faced_across, faced_along), 0.0),
        faced_along,
        faced_across,
        inverse,
        (by_along + shrinking * bulge_along, by_across + shrinking * bulge_across),
        (strength * by_along + growing, strength * by_across),
    )


class Bend(NamedTuple):
    """The frame of a chain for its target.

    The chord points to the target, the chain bends to the side, and the normal is their vector
    product. The rotation is that of the whole chain from its start pose, before any flip.
    """

    chord: Vector
    side: Vector
    normal: Vector
    rotation: Quaternion
    distance: Number

    @property
    def frame(self) -> Array:
        """Chord, side and normal as the rows of a matrix, shape (3, 3) or (3, 3, B)."""
        return np.array((self.chord, self.side, self.normal))


def find_bend(
    m: Arithmetic, first: Any, end: Any, inner: Any, reach: Number, hint: Any
) -> tuple[Vector, Vector, Number]:
    """Return the chord, the side and the bulge of a start pose.

    The bulge is the distance of the inner joints' mean from the chord. The side is the bulge's;
    without a bulge, the hint's; without both, any axis across. A closed chain gets a chord across
    its bulge, so that a solve for its root changes nothing. Zero is no inner mean, or no hint.
    """
    first, hint = unit(m, first, ZERO), unit(m, hint, ZERO)
    outward = unit(m, inner, first)
    closed = unit(m, reject(hint, outward), perpendicular(m, outward))
    chord = choose(m, norm(m, end) < MIN_TARGET_DISTANCE * reach, closed, unit(m, end, first))
    offset = reject(inner, chord)
    bulge = norm(m, offset)
    hint_side = unit(m, reject(hint, chord), ZERO)
    side = choose(m, bulge < MIN_BULGE * reach, hint_side, unit(m, offset, hint_side))
    side = choose(m, norm(m, side) > 0.5, side, perpendicular(m, chord))
    return chord, side, bulge


def bend_side(joint_positions: Array) -> Array | None:
    """Return the unit direction (3,) across the chord to which joints (n + 1, 3) bend.

    None for a chain that is straight or has no side.
    """
    joints = np.asarray(joint_positions, dtype=np.float64)
    points = joints - joints[0]
    if len(points) < 3:
        return None
    reach = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    ends = points[1].tolist(), points[-1].tolist(), points[1:-1].mean(axis=0).tolist()
    _, side, bulge = find_bend(FLOATS, *ends, reach, ZERO)
    return None if bulge <= MIN_BULGE * reach else np.array(side)


def plan_bend(
    m: Arithmetic, start_chord: Any, start_side: Any, reach: Number, target: Any, pole: Pole | None
) -> Bend:
    """Return the chord, side and rotation of a chain for its target.

    The start pose is swung about the root until its chord points at the target (opposite
    directions: in the plane of the bend), then turned about the chord until its side faces the
    pole. A target on the root leaves the chord unchanged. A pole on the chord's line gives no side:
    then the swung start pose keeps its side.

    Source: derived for this project after the two-bone construction in common use; continuity and
    covariance are proved in tests/core/test_continuity.py and test_covariance.py.
    """
    distance = norm(m, target)
    toward = scale(target, m.divide(1.0, distance))
    chord = choose(m, distance < MIN_TARGET_DISTANCE * reach, start_chord, toward)
    rotation = quaternions.between(m, start_chord, chord, cross(start_chord, start_side))
    side = rotate(rotation, start_side)
    if pole is not None:
        side, rotation = _swivel(m, pole, chord, side, rotation)
    return Bend(chord, side, cross(chord, side), rotation, distance)


def slew_base(m: Arithmetic, base: Base, target: Vector) -> Quaternion:
    """Return the turn of a base toward a target, as far as its range allows.

    Where its range is nearer to the opposite way, it faces that, and the bones beyond reach back.

    Source: derived for this project, tested in tests/core/solving/limits/test_smoothness.py.
    """
    axis, low, high = base.axis, base.low, base.high
    before, after = (reject(subtract(point, base.pivot), axis) for point in (base.tip, target))
    facing = base.angle + m.atan2(dot(cross(before, after), axis), dot(before, after))
    middle, ways = find_middle(m, low, high), (facing, facing + math.pi)
    ends = [clamp_angle(m, way, low, high, middle) for way in ways]
    gap, other_gap = (
        m.absolute(wind_angle(m, way - end, 0.0)) for way, end in zip(ways, ends, strict=True)
    )
    angle = m.where(gap <= other_gap, *ends)
    return quaternions.about(m, axis, angle - base.angle)


def _swivel(
    m: Arithmetic, pole: Pole, chord: Vector, side: Vector, rotation: Quaternion
) -> tuple[Vector, Quaternion]:
    """Return side and rotation turned about the chord toward the pole."""
    across = reject(pole.position, chord)
    sine = m.divide(norm(m, across), norm(m, pole.position))
    share = smoothstep(m, sine, MIN_POLE_SINE, FULL_POLE_SINE)
    # Blend the angle, not the directions: when the chord has just passed the pole, they are
    # opposite, and their mean would vanish on the most usual path, in the plane of the bend.
    normal = cross(chord, side)
    angle = m.atan2(dot(normal, across), dot(side, across))
    if pole.keeps_start:
        angle += pole.angle
        angle = m.atan2(m.sin(angle), m.cos(angle))
    angle = m.where(angle < OPPOSITE_ANGLE, angle + 2.0 * math.pi, angle)
    if pole.keeps_start:
        open_angle = (1.0 - share) * math.pi
        angle = angle - m.minimum(m.maximum(angle, -open_angle), open_angle)
    else:
        angle = share * angle + pole.angle
    angle = m.where(pole.is_set, angle, 0.0)
    rotation = quaternions.multiply(quaternions.about(m, chord, angle), rotation)
    return add(scale(side, m.cos(angle)), scale(normal, m.sin(angle))), rotation


def face_side(
    m: Arithmetic,
    bend: Bend,
    bulge: tuple[Number, Number],
    reach: Number,
    pole: Pole | None,
    use_flip: Condition | None,
) -> Bend:
    """Return the frame in which a pose bends to its side, or flipped to the other one.

    The bulge is the mean offset of the inner joints from the chord, along side and normal. A pose
    with a pole is turned about the chord until its bulge faces the side; without a bulge (straight,
    or S-shaped with equal halves) it stays. A flipped pose is mirrored across the chord. Both are
    linear, so the frame is changed instead of the pose.
    """
    (y, z), side, normal = bulge, bend.side, bend.normal
    size = m.sqrt(y * y + z * z)
    if pole is not None:
        has_side = pole.is_set & (size > MIN_TARGET_DISTANCE * reach)
        cosine = m.where(has_side, m.divide(y, size), 1.0)
        sine = m.where(has_side, m.divide(z, size), 0.0)
        side, normal = (
            subtract(scale(side, cosine), scale(normal, sine)),
            add(scale(side, sine), scale(normal, cosine)),
        )
    if use_flip is not None:
        has_side = size > MIN_LENGTH
        y = m.where(has_side, m.divide(y, size), 1.0)
        z = m.where(has_side, m.divide(z, size), 0.0)
        twice = scale(add(scale(side, y), scale(normal, z)), m.where(use_flip, 2.0, 0.0))
        side, normal = subtract(side, scale(twice, y)), subtract(normal, scale(twice, z))
    return bend._replace(side=side, normal=normal)


def carry_side(
    m: Arithmetic,
    chord: Vector,
    side: Vector,
    leaning: tuple[Vector, Number],
    toward: Vector,
    turn: Quaternion,
    share: Number,
) -> Vector:
    """Return the unit direction across a chord to which a limb bends.

    The rest pose's side is carried to the chord the shortest way from one direction, and turned
    about the chord by half of the target's twist. Opposite to that direction the side turns over,
    as it must somewhere on a sphere: the lean moves this to where the limb does not go. Everything
    is in the space in which the root turns.

    Args:
        m: Arithmetic of the numbers.
        chord: Unit vector from root to end at rest.
        side: Unit vector across the chord to which the limb bends at rest.
        leaning: Direction from which the side is carried: the unit vector across the chord to which
            it leans, and the angle from the chord, in radians.
        toward: Unit vector from root to end now.
        turn: Rotation of the target since rest.
        share: Share of its twist that counts, 0 to 1.

    Source: derived for this project; tests/core/kinematics/test_carried_side.py.
    """
    across, lean = leaning
    hinge = cross(chord, across)
    source = add(scale(chord, m.cos(lean)), scale(across, m.sin(lean)))
    there, back = (quaternions.between(m, source, to, hinge) for to in (toward, chord))
    carried = quaternions.multiply(there, quaternions.conjugate(back))
    w, *axis = quaternions.multiply(turn, quaternions.conjugate(carried))
    along = dot((axis[0], axis[1], axis[2]), toward)
    twist = 2.0 * m.atan2(along * m.where(w < 0.0, -1.0, 1.0), m.absolute(w))
    size = m.absolute(twist)
    half = m.minimum(
        0.5 * size, (math.pi - size) * MAX_HALVED_TWIST / (2.0 * (math.pi - MAX_HALVED_TWIST))
    )
    angle = share * half * smoothstep(m, w * w + along * along, 0.0, WELL_DEFINED)
    angle = m.where(twist < 0.0, -angle, angle)
    return rotate(quaternions.multiply(quaternions.about(m, toward, angle), carried), side)
