"""NEWTON for one chain that lies in a plane, straight to the turns of its bones.

What is done here, and why, is told where it is done for many: in ``planar_turns``.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from . import rotation, single_newton, single_planar
from .bend import AT_ROOT
from .chain import Chain, SolveOptions, Status
from .single import SingleBend, bend_to, cross, dot, multiply
from .single_start import Complex, SingleStart, Vector
from .soft import eased_alone
from .status_codes import status_alone
from .task import FINEST_TOLERANCE
from .vectors import Array


class SingleTurned(NamedTuple):
    """As ``Turned``, for one chain."""

    local_wxyz: Array
    gap: Vector
    residual: float
    iterations: int
    status: Status


class SinglePlanarTurns:
    """One chain of n segments, compiled; k bones have rotations, those without a segment last."""

    def __init__(self, chain: Chain, rotations: Array, frames: Array) -> None:
        """Compile a chain; all are as in ``planar_turns``, without the first axis."""
        start = self.start = SingleStart(chain.start, is_flat=True)
        count = start.count
        normal = np.array(cross(start.chord, start.side))
        inside = rotation.rotate(rotation.conjugate(frames[:count]), normal)
        half_turns = np.column_stack((np.zeros(count), inside))
        self._own = rotations
        self._turned = rotation.multiply(half_turns, rotations[:count])
        self._back = single_planar.first(start).conj()

    def solved(
        self, target: Vector, pole: Vector | None, pole_angle: float, options: SolveOptions
    ) -> SingleTurned:
        """Return what brings the effector to a target.

        Args:
            target: Armature space.
            pole: Armature space, or None.
            pole_angle: Radians.
            options: Without influence; the solver is not asked.
        """
        start, soft = self.start, float(options.soft_distance)
        bend = bend_to(start, target, pole, pole_angle)
        distance = near = bend.distance
        if soft:
            near = eased_alone(distance, start.reach, start.least, soft / start.unit)
        is_too_far = near >= start.reach
        is_too_near = 0.0 < start.least and near <= start.least
        if is_too_far or is_too_near:
            directions, used = self._along_chord(is_folded=not is_too_far), 0
        else:
            directions, used = self._bent(near, options, has_pole=pole is not None)
        gap = self._gap(directions, bend, target)
        residual = sqrt(dot(gap, gap))
        return SingleTurned(
            local_wxyz=self._local(directions, bend.rotation_wxyz),
            gap=gap,
            residual=residual,
            iterations=used,
            status=status_alone(
                residual,
                float(options.tolerance) + FINEST_TOLERANCE * (start.reach + distance) * start.unit,
                is_too_far=is_too_far or distance >= start.reach,
                is_too_near=is_too_near,
                short=(distance - near) * start.unit,
            ),
        )

    def _gap(self, directions: Complex, bend: SingleBend, target: Vector) -> Vector:
        """Return the way from where directions bring the effector to the target."""
        start = self.start
        tip = complex(start.complex_lengths.dot(directions)) * start.unit
        along, aside = tip.real, tip.imag
        (x, y, z), (a, b, c), (i, j, k) = bend.chord, bend.side, start.root
        return (
            target[0] - i - along * x - aside * a,
            target[1] - j - along * y - aside * b,
            target[2] - k - along * z - aside * c,
        )

    def _bent(
        self, distance: float, options: SolveOptions, *, has_pole: bool
    ) -> tuple[Complex, int]:
        """Return directions that reach a distance, to the side that is asked for."""
        start = self.start
        tolerance = max(float(options.tolerance) / start.unit, FINEST_TOLERANCE * start.reach)
        directions, used = single_newton.found(
            single_planar, start, distance, tolerance, int(options.iterations)
        )
        aside = float(start.after.dot(directions.imag))
        is_behind = has_pole and aside < -AT_ROOT * start.reach
        return directions if is_behind == bool(options.use_flip_bend) else directions.conj(), used

    def _along_chord(self, *, is_folded: bool) -> Complex:
        directions = np.full(self.start.count, -1.0 + 0j if is_folded else 1.0 + 0j)
        directions[self.start.first_longest] = 1.0
        return directions

    def _local(self, directions: Complex, whole_wxyz: tuple[float, float, float, float]) -> Array:
        """Return the bones' own rotations, shape (k, 4)."""
        turn = directions * self._back
        turn[1:] *= turn[:-1].conj()
        # The root of a direction is the direction of half its angle.
        half = np.sqrt(turn)
        count = len(half)
        local = self._own.copy()
        local[:count] *= half.real[:, None]
        local[:count] += self._turned * half.imag[:, None]
        w, x, y, z = local[0].tolist()
        local[0] = multiply(whole_wxyz, (w, x, y, z))
        return local
