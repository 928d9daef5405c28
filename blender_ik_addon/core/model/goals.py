"""Goals of the effectors of one chain or of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidGoalError
from .floor import Floor
from .records import Record, Shape, check_array, check_shape, freeze, take_record


@dataclass(frozen=True)
class Goal(Record):
    """The goal of one chain: the target of its effector, and how the chain bends.

    For a tree of E effectors, all arrays have one more axis before the last, and numbers become
    arrays (E,).

    Attributes:
        target_position: Target of the effector, shape (3,), armature space.
        pole_position: Point toward which the chain bends, shape (3,), or None. In a tree the limb
            of the effector bends: the bones of its path that move only it and effectors on its bone
            or beyond. If these are fewer than two, it is the whole path. A bone that takes a
            rotation does not bend: the limb ends at its head, and a single bone has no bend.
        pole_angle: Turn of the bend about the line from root to target, in radians,
            counter-clockwise for a viewer at the target.
        tip_rotation_wxyz: Rotation of the tip bone from its start orientation to the requested one,
            in armature space, shape (4,); None leaves the tip free.
        weight: Weights of the effectors of a tree. If not all goals can be met, the sum of weight
            times squared distance is minimised. Zero or more; None for 1.
        priority: Priorities of the effectors' goals, whole numbers (E,), the same for all trees.
            Goals of 0 are always held. Goals of 1 and 2 are met until that takes too much force;
            then they pull with that force, and 2 gives way sooner. Goals of 3 and more pull softly,
            each next number a tenth as strongly. None for no priorities: all positions come first,
            and poles and rotations are met in addition.
        floor: Floor of a tree with priorities; all goals but those of 0 give way to it. None for
            no floor.
        near_wxyz: Local rotations of the pose from which a tree with priorities starts, and near
            which it stays, shape (n, 4); None for the start pose.
        near_root: Position of the first head in that pose, for trees that float, shape (3,); None
            for its start position.
        has_pole: Whether each effector's pole counts, the same for all trees; None for all.
        has_tip_rotation: The same for tip rotations.
    """

    target_position: Array
    pole_position: Array | None = None
    pole_angle: float | Array = 0.0
    tip_rotation_wxyz: Array | None = None
    weight: Array | None = None
    priority: Sequence[int] | None = None
    floor: Floor | None = None
    near_wxyz: Array | None = None
    near_root: Array | None = None
    has_pole: Sequence[bool] | None = None
    has_tip_rotation: Sequence[bool] | None = None
    leading: ClassVar[Shape] = ()

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        effectors = ("E",) if np.ndim(self.target_position) == len(self.leading) + 2 else ()
        target: Shape = (*self.leading, *effectors, 3)
        self._freeze_arrays(InvalidGoalError, target_position=target)
        target = self.target_position.shape
        leading = target[:-1]
        if self.pole_position is not None:
            self._freeze_arrays(InvalidGoalError, pole_position=target)
        if not isinstance(self.pole_angle, int | float):
            self._freeze_arrays(InvalidGoalError, pole_angle=leading)
        elif not abs(self.pole_angle) < np.inf:
            raise InvalidGoalError("The pole angle must be finite: set it in radians.")
        if self.tip_rotation_wxyz is not None:
            self._freeze_rotations("tip_rotation_wxyz", "tip rotation", (*leading, 4))
        if effectors:
            self._check_effectors(leading)
        if self.near_wxyz is not None:
            if not effectors or self.priority is None:
                raise InvalidGoalError(
                    "A near pose needs a tree with priorities: give one to each effector."
                )
            self._freeze_rotations("near_wxyz", "near rotation", (*leading[:-1], "n", 4))
            self._freeze_arrays(InvalidGoalError, near_root=(*leading[:-1], 3))
        elif self.near_root is not None:
            raise InvalidGoalError(
                "A near root is part of a near pose: give near_wxyz with it, or leave both out."
            )

    def _freeze_rotations(self, name: str, words: str, shape: Shape) -> None:
        """Replace rotations of any length by unit quaternions."""
        rotations = check_array(getattr(self, name), shape, words, InvalidGoalError)
        sizes = np.sqrt(np.add.reduce(rotations * rotations, axis=-1, keepdims=True))
        if (sizes < 1e-9).any():
            raise InvalidGoalError(f"A {words} is zero: give unit quaternions wxyz.")
        unit = rotations / sizes
        unit.setflags(write=False)
        freeze(self, name, unit)

    def _check_effectors(self, leading: Shape) -> None:
        self._freeze_arrays(InvalidGoalError, weight=leading)
        if self.weight is not None:
            if (self.weight < 0.0).any() or not (self.weight > 0.0).any(axis=-1).all():
                raise InvalidGoalError(
                    "The weights of a tree's goals must not be negative or all zero: raise them."
                )
        for name, kind in (("has_pole", bool), ("has_tip_rotation", bool), ("priority", int)):
            values = getattr(self, name)
            if values is not None:
                count = np.size(values)
                if np.ndim(values) != 1 or count != leading[-1]:
                    raise InvalidGoalError(
                        f"There must be {leading[-1]} values of {name}, not {count}: give"
                        " one for each effector, the same for all trees."
                    )
                if kind is int:
                    _check_priorities(values)
                freeze(self, name, tuple(kind(value) for value in values))
        if self.floor is not None:
            _check_floor(self.floor, (*leading[:-1], 3))

    def as_batch(self) -> Goals:
        """Return the goal of one chain as a batch of one."""
        return take_record(Goals, self, None)


class Goals(Goal):
    """The goals of B chains: a ``Goal`` whose arrays have B as their first axis.

    The pole angle may also be one number for all.
    """

    leading = ("B",)


def _check_priorities(values: Sequence[int]) -> None:
    """Raise ``InvalidGoalError`` if a priority is not a whole number from zero on."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iuf" or (numbers < 0).any() or (numbers % 1 != 0).any():
        raise InvalidGoalError(
            "The priorities must be whole numbers: give 0 for goals that are always held, 1 and 2"
            " for others, or 3 and more for goals that pull softly."
        )


def _check_floor(floor: Floor, shape: Shape) -> None:
    """Raise ``InvalidGoalError`` if a floor is for another number of trees."""
    if not isinstance(floor, Floor):
        raise InvalidGoalError(
            f"The floor must be a Floor, not a {type(floor).__name__}: give one."
        )
    advice = "give one floor for each tree"
    check_shape(floor.normal.shape, shape, "floor's normal", InvalidGoalError, advice)
