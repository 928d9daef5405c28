"""How springs of bent joints resist turns, and how that changes with turns.

Layout as in ``vectors``; turns of joints are told before their own, as everywhere in ``jointed``.
"""

from __future__ import annotations

import numpy as np

from . import turns
from .effort import Effort, Sides
from .vectors import Array, dot, skew

# Below this angle a series tells what a cotangent cannot.
SMALL_ANGLE = 1e-2


class Springs:
    """The springs of chains at one pose.

    Of a rotation vector v from the optimum a turn d before the joint's makes v + J d, where
    J = 1 - [v]/2 + c [v][v] with c as ``_cotangents`` tells it.

    Source: derived for this project, and tested against differences in tests/core/test_effort.py.
    """

    def __init__(self, effort: Effort, turn: Array) -> None:
        """Take joints as they are bent at turns (n, 4, B)."""
        self._effort, self._bent = effort, effort.bent(turn)
        axes = turns.matrices(effort.optimum)
        self._axes = axes
        self._vector = np.einsum("nijb,njb->nib", axes, self._bent)
        self._rate, self._over = _cotangents(self._bent)
        vector = self._vector
        square = vector[:, :, None] * vector[:, None]
        square -= dot(vector, vector)[:, None, None] * np.eye(3)[:, :, None]
        self._told = np.eye(3)[:, :, None] - 0.5 * skew(vector)
        self._told += self._rate[:, None, None] * square
        self._own = np.einsum("njib,njkb->nikb", axes, self._told)

    def slope(self, sides: Sides) -> Array:
        """Return how springs resist turns of their joints, shape (n, 3, B).

        Args:
            sides: Those of their comfort on which springs are taken to act, as ``Effort.sides``.
        """
        slope: Array = np.einsum("nijb,nib->njb", self._own, self._pull(sides)[0])
        return slope

    def curvature(self, sides: Sides) -> Array:
        """Return how the slopes change with turns of their joints, (n, 3, 3, B).

        The derivative of the slope, made symmetric, as second derivatives along the geodesics
        exp(t d) R are. With [a][b] = b a^T - a.b and [a x b] = b a^T - a b^T what comes of the
        change of J needs no matrix product but the last.

        Args:
            sides: As for ``slope``.
        """
        pull, steep = self._pull(sides)
        vector, rate = self._vector, self._rate[:, None, None]
        force = np.einsum("nijb,njb->nib", self._axes, pull)
        along = dot(vector, force)
        aside = vector * along[:, None] - force * dot(vector, vector)[:, None]
        outer = force[:, :, None] * vector[:, None]
        inner = rate * (outer.swapaxes(1, 2) - 2.0 * outer) - 0.5 * skew(force)
        inner += (self._rate * along)[:, None, None] * np.eye(3)[:, :, None]
        inner += self._over[:, None, None] * aside[:, :, None] * vector[:, None]
        whole = np.einsum("nijb,njkb->nikb", inner, self._told)
        whole += np.einsum("nijb,nikb->njkb", self._own * steep[:, :, None], self._own)
        curvature: Array = 0.5 * (whole + whole.swapaxes(1, 2))
        return curvature

    def _pull(self, sides: Sides) -> tuple[Array, Array]:
        """Return how springs pull about the axes of optima, and how that grows, (n, 3, B)."""
        effort = self._effort
        excess, growth = effort.excess(self._bent, sides)
        square, stiffness = growth * excess * excess, effort.stiffness[:, None]
        return (
            stiffness * excess * (1.0 + square),
            stiffness * np.where(sides != 0, 1.0 + 3.0 * square, 0.0),
        )


def _cotangents(bent: Array) -> tuple[Array, Array]:
    """Return c = (1 - (a/2) cot(a/2)) / a^2 of angles a, and its derivative over a, (n, B)."""
    square = dot(bent, bent)
    is_small = square < SMALL_ANGLE**2
    safe = np.where(is_small, 1.0, square)
    angle = np.sqrt(safe)
    half = 0.5 * angle
    # By half angles the cotangent has no pole up to half a turn and beyond.
    cotangent = np.cos(half) / np.sin(half)
    rate = np.where(is_small, (1.0 + square / 60.0) / 12.0, (1.0 - half * cotangent) / safe)
    slope = 0.5 * half * (1.0 + cotangent * cotangent) - 0.5 * cotangent
    over = np.where(
        is_small,
        (1.0 + square / 21.0) / 360.0,
        (slope - 2.0 * angle * rate) / (safe * angle),
    )
    return rate, over
