"""The arithmetic of floats, for one chain, and of arrays, for many chains side by side.

A *number* is a Python float (one chain), an array (B,) (similar chains) or (n, B) (their bones). A
vector, quaternion or matrix is a tuple of numbers. A formula is written once and takes the
arithmetic of its numbers as ``m``. Floats raise errors where arrays give NaN, and a choice between
arrays computes both sides: so roots, quotients, angles and powers are guarded here, in the same way
for both. tests/core/algebra runs every formula on both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]
Number = Any
"""float | Array: formulas give the same results for both, as tests prove."""
Condition = Any
"""bool | Flags; combined by & and |, negated by ``Arithmetic.negate``."""
Unary = Callable[[Number], Number]
Binary = Callable[[Number, Number], Number]


class Arithmetic(Protocol):
    """The operations of formulas besides +, -, * and comparisons.

    The last four take all vectors of a chain: arrays (n, 3) for one chain, (n, 3, B) for many.
    """

    sqrt: Unary  # zero for negative numbers, which come from rounding
    length: Callable[[Number, Number, Number], Number]  # the root of the sum of three squares
    divide: Binary  # zero where the divisor is zero
    sin: Unary
    cos: Unary
    atan2: Binary  # of y and x; zero for the origin
    acos: Unary  # of numbers clamped between -1 and 1
    exp: Unary  # e to a power of at most 700
    round: Unary  # to the nearest whole number, halves to the even one
    absolute: Unary
    minimum: Binary
    maximum: Binary
    is_finite: Callable[[Number], Condition]
    where: Callable[[Condition, Number, Number], Number]  # both sides are computed
    choose: Callable[[Condition, Any, Any], Any]  # one tuple of numbers or the other
    negate: Callable[[Condition], Condition]
    all: Callable[[Condition], bool]  # whether the condition is true for all chains
    any: Callable[[Condition], bool]
    total: Callable[[Array, Any], Any]  # of numbers (n, ...) times numbers or vectors (n, 3, ...)
    project: Callable[[Array, Any], Array]  # vectors (n, 3, ...) on one axis (3, ...)
    square: Callable[[Array], Array]  # the squared lengths of vectors (n, 3, ...)
    place: Callable[[Array, Array], Array]  # vectors given along the rows of a frame (3, 3, ...)


def _make(**functions: Callable[..., Any]) -> Arithmetic:
    """Return an arithmetic; Python calls methods faster than functions stored as attributes."""
    arithmetic: Arithmetic = type("Arithmetic", (), functions)()
    return arithmetic


# Greatest exponent of e; float64 overflows beyond 709.
MAX_EXPONENT = 700.0
# A product with it sums the components of each row, faster than a sum along an axis.
ONES = np.ones(3)

FLOATS = _make(
    sqrt=lambda _, x: math.sqrt(x) if x > 0.0 else 0.0,
    length=lambda _, x, y, z: math.sqrt(x * x + y * y + z * z),
    divide=lambda _, x, y: x / y if y else 0.0,
    sin=math.sin,
    cos=math.cos,
    atan2=math.atan2,
    acos=lambda _, x: math.acos(-1.0 if x < -1.0 else 1.0 if x > 1.0 else x),
    exp=lambda _, x: math.exp(x if x < MAX_EXPONENT else MAX_EXPONENT),
    round=lambda _, x: float(round(x)) if math.isfinite(x) else x,
    absolute=abs,
    # Several times faster than the built-in functions, which take any number of arguments.
    minimum=lambda _, x, y: y if y < x else x,
    maximum=lambda _, x, y: y if y > x else x,
    is_finite=math.isfinite,
    where=lambda _, condition, yes, no: yes if condition else no,
    choose=lambda _, condition, yes, no: yes if condition else no,
    negate=lambda _, condition: not condition,
    all=bool,
    any=bool,
    total=lambda _, a, b: a.T.dot(b).tolist(),
    project=lambda _, vectors, axis: vectors.dot(axis),
    square=lambda _, vectors: (vectors * vectors).dot(ONES),
    place=lambda _, vectors, frame: vectors.dot(frame),
)


def _divide(_: Arithmetic, x: Any, y: Any) -> Any:
    is_zero = np.equal(y, 0.0)
    if not is_zero.any():
        return x / y
    return np.where(is_zero, 0.0, x / np.where(is_zero, 1.0, y))


def _choose(_: Arithmetic, condition: Any, yes: Any, no: Any) -> Any:
    return tuple([np.where(condition, a, b) for a, b in zip(yes, no, strict=True)])


ARRAYS = _make(
    sqrt=lambda _, x: np.sqrt(np.maximum(x, 0.0)),
    length=lambda _, x, y, z: np.sqrt(x * x + y * y + z * z),
    divide=_divide,
    sin=np.sin,
    cos=np.cos,
    atan2=np.arctan2,
    acos=lambda _, x: np.arccos(np.minimum(np.maximum(x, -1.0), 1.0)),
    exp=lambda _, x: np.exp(np.minimum(x, MAX_EXPONENT)),
    round=np.rint,
    absolute=np.abs,
    minimum=np.minimum,
    maximum=np.maximum,
    is_finite=np.isfinite,
    where=staticmethod(np.where),
    choose=_choose,
    negate=np.logical_not,
    all=lambda _, condition: bool(np.all(condition)),
    any=lambda _, condition: bool(np.any(condition)),
    total=lambda _, a, b: np.einsum("nib,njb->ijb" if a.ndim == 3 else "nb,n...b->...b", a, b),
    project=lambda _, vectors, axis: np.einsum("nkb,kb->nb", vectors, axis),
    square=lambda _, vectors: np.einsum("nkb,nkb->nb", vectors, vectors),
    place=lambda _, vectors, frame: np.einsum("nkb,kjb->njb", vectors, frame),
)
