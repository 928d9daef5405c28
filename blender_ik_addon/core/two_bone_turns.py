"""TWO_BONE for one limb as turns of its bones: plain floats, for a few limbs at once.

The three joints of a limb lie in one plane before and after, and the turn of the chain as a whole
takes one plane to the other. So each bone turns in the plane, by the difference of its angles to
the chord, and with the plane. Those are the shortest swings that ``transport`` takes one by one.

Source: derived for this project; tests/core/test_two_bone_turns.py compares it with ``solve``.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin

from .chain import Chain
from .single import Quaternion, bend_to, cross, elbow, multiply
from .single_start import Vector
from .soft import eased_alone


class TwoBoneTurns:
    """A limb of two bones, compiled.

    Bones are told by a rotation that each has before it is turned. The first is turned in armature
    space; the second in its parent, so the turn is told in the frame of that, as it starts.
    """

    def __init__(
        self,
        chain: Chain,
        rotations: tuple[Quaternion, Quaternion],
        elbow_frame: Quaternion,
    ) -> None:
        """Compile a limb.

        Args:
            chain: Of two bones, in its start pose.
            rotations: What the bones' own rotations are in the start pose, wxyz: of the first in
                armature space, of the second in its parent frame.
            elbow_frame: Rotation of that frame in the start pose, armature space, wxyz.
        """
        start = chain.single_start
        self.start = start
        (x, y, _), (x2, y2, _) = start.directions.tolist()
        self._angles = atan2(y, x), atan2(y2, x2)
        normal = cross(start.chord, start.side)
        w, x, y, z = elbow_frame
        back = (w, -x, -y, -z)
        inside = multiply(multiply(back, (0.0, *normal)), elbow_frame)
        first, second = rotations
        self._first = first, multiply((0.0, *normal), first)
        self._second = second, multiply(inside, second)

    def solved(
        self,
        target: Vector,
        pole: Vector | None,
        pole_angle: float,
        *,
        use_flip: bool,
        soft_distance: float = 0.0,
    ) -> tuple[Quaternion, Quaternion, float]:
        """Return the bones' own rotations that bring the effector to a target, and what is missing.

        Args:
            target: Armature space.
            pole: Armature space, or None.
            pole_angle: Radians.
            use_flip: Bend to the other side.
            soft_distance: As in ``SolveOptions``.

        Returns:
            Two quaternions wxyz, and the signed distance from the target to what is reached:
            positive if it is too far or softened, negative if it is too near.
        """
        start = self.start
        _, _, turn, distance = bend_to(start, target, pole, pole_angle)
        near = distance
        if soft_distance:
            near = eased_alone(distance, start.reach, start.least, soft_distance / start.unit)
        first, second, missing = self._bent(near, use_flip=use_flip)
        upper = 0.5 * (first - self._angles[0])
        lower = 0.5 * (second - self._angles[1]) - upper
        own, turned = self._second
        return (
            multiply(turn, _mixed(*self._first, upper)),
            _mixed(own, turned, lower),
            (missing + (distance - near)) * start.unit,
        )

    def _bent(self, distance: float, *, use_flip: bool) -> tuple[float, float, float]:
        """Return the angles of both bones to the chord, and the distance that is missing."""
        start = self.start
        if distance >= start.reach:
            return 0.0, 0.0, distance - start.reach
        if 0.0 < start.least and distance <= start.least:
            is_first = start.first_longest == 0
            return (
                (0.0, pi, distance - start.least) if is_first else (pi, 0.0, distance - start.least)
            )
        foot, height, distance = elbow(start, distance)
        if use_flip:
            height = -height
        return atan2(height, foot), atan2(-height, distance - foot), 0.0


def _mixed(own: Quaternion, turned: Quaternion, half: float) -> Quaternion:
    c, s = cos(half), sin(half)
    return (
        c * own[0] + s * turned[0],
        c * own[1] + s * turned[1],
        c * own[2] + s * turned[2],
        c * own[3] + s * turned[3],
    )
