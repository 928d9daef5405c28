"""Where the effectors of trees shall be.

All points are in armature space, each tree in its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .model.errors import InvalidGoalError
from .trees import checked_rows
from .vectors import Array, Flags


@dataclass(frozen=True)
class TreeGoals:
    """Where the effectors of a tree shall be; with one more leading axis of B trees alike.

    Attributes:
        target_positions: Shape (..., E, 3), armature space.
        weights: What effectors count where not all can be met: the sum of weight times squared
            distance becomes least. Zero or more, shape (..., E); None for 1.
        pole_positions: Where the limbs of effectors bend to, shape (..., E, 3). A limb is the bones
            that move it and else only what goes on from its bone; where those are fewer than two,
            all that move it.
        has_poles: Which of the poles count, shape (E,); None for all.
        pole_angles: Radians about the line from the limb's root to the target, (..., E).
        tip_rotations_wxyz: Rotations that take the bones of the effectors from their start
            orientations to the wanted ones, in armature space, shape (..., E, 4).
        has_tip_rotations: Which of the rotations count, shape (E,); None for all.
    """

    target_positions: Array
    weights: Array | None = None
    pole_positions: Array | None = None
    has_poles: Flags | None = None
    pole_angles: float | Array = 0.0
    tip_rotations_wxyz: Array | None = None
    has_tip_rotations: Flags | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        targets = checked_rows(self.target_positions, None, 3, "target positions")
        leading = targets.shape[:-1]
        self._set("target_positions", targets)
        weights = np.ones(leading) if self.weights is None else self.weights
        weights = checked_rows(weights, leading, 0, "weights")
        if (weights < 0.0).any() or not (weights > 0.0).any(axis=-1).all():
            raise InvalidGoalError(
                "The weights of a tree's goals must be zero or more, and one above: raise it."
            )
        self._set("weights", weights)
        if self.pole_positions is not None:
            poles = checked_rows(self.pole_positions, leading, 3, "pole positions")
            self._set("pole_positions", poles)
        if not np.isfinite(self.pole_angles).all():
            raise InvalidGoalError("A pole angle is not a finite number: set it in radians.")
        if self.tip_rotations_wxyz is not None:
            tips = checked_rows(self.tip_rotations_wxyz, leading, 4, "tip rotations")
            sizes = np.linalg.norm(tips, axis=-1, keepdims=True)
            if (sizes < 1e-9).any():
                raise InvalidGoalError("A tip rotation is zero: give unit quaternions wxyz.")
            self._set("tip_rotations_wxyz", tips / sizes)
        for name in ("has_poles", "has_tip_rotations"):
            flags = getattr(self, name)
            flags = np.ones(leading[-1:]) if flags is None else flags
            flags = np.array(flags, dtype=np.bool_)
            if flags.shape != leading[-1:]:
                raise InvalidGoalError(
                    f"The {name} need shape {leading[-1:]}, not {flags.shape}: give one an effector"
                    " for all trees."
                )
            self._set(name, flags)

    def _set(self, name: str, values: Array | Flags) -> None:
        values.setflags(write=False)
        object.__setattr__(self, name, values)

    @property
    def as_batch(self) -> TreeGoals:
        """The goals of one tree as those of a batch of one."""
        poles, tips, weights = self.pole_positions, self.tip_rotations_wxyz, self.weights
        return TreeGoals(
            self.target_positions[None],
            None if weights is None else weights[None],
            None if poles is None else poles[None],
            self.has_poles,
            self.pole_angles,
            None if tips is None else tips[None],
            self.has_tip_rotations,
        )
