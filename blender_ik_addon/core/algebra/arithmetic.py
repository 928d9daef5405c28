"""What floats and arrays do differently: one arithmetic for one chain, one for many side by side.

A *number* is a Python float (one chain), an array (B,) (chains alike) or (n, B) (their bones side
by side); a vector, quaternion or matrix is a tuple of numbers. Formulas are written once and take
the arithmetic of their numbers as ``m``. Floats raise where arrays give NaN, and a choice between
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
"""float | Array: what holds of one holds of the other, which is what tests prove."""
Condition = Any
"""bool | Flags; combined by & and |, negated by ``Arithmetic.negate``."""
Unary = Callable[[Number], Number]
Binary = Callable[[Number, Number], Number]


class Arithmetic(Protocol):
    """What formulas need besides +, -, * and comparisons.

    The last four are sums over what a chain consists of: arrays (n, 3) for one chain, (n, 3, B)
    for many.
    """

    sqrt: Unary  # zero for what rounding has brought below zero
    length: Callable[[Number, Number, Number], Number]  # the root of the sum of three squares
    divide: Binary  # zero where the divisor is zero
    sin: Unary
    cos: Unary
    atan2: Binary  # of y and x; zero for the origin
    acos: Unary  # beyond 1 and -1 as there
    exp: Unary  # e to a power of at most 700
    round: Unary  # to the nearest whole number, of two the even one
    absolute: Unary
    minimum: Binary
    maximum: Binary
    is_finite: Callable[[Number], Condition]
    where: Callable[[Condition, Number, Number], Number]  # both have been computed
    choose: Callable[[Condition, Any, Any], Any]  # one tuple of numbers or the other
    negate: Callable[[Condition], Condition]
    all: Callable[[Condition], bool]  # whether it holds of all chains
    any: Callable[[Condition], bool]
    total: Callable[[Array, Any], Any]  # of products of numbers (n, ...), or vectors (n, 3, ...)
    project: Callable[[Array, Any], Array]  # vectors (n, 3, ...) on one axis (3, ...)
    square: Callable[[Array], Array]  # the squared lengths of vectors (n, 3, ...)
    place: Callable[[Array, Array], Array]  # vectors given along the rows of a frame (3, 3, ...)


def _make(**functions: Callable[..., Any]) -> Arithmetic:
    """Return an arithmetic; Python finds and calls methods sooner than functions kept as values."""
    arithmetic: Arithmetic = type("Arithmetic", (), functions)()
    return arithmetic


LARGEST_POWER = 700.0
# A product with it adds up the components of every row, quicker than a sum along an axis.
ONES = np.ones(3)

FLOATS = _make(
    sqrt=lambda _, x: math.sqrt(x) if x > 0.0 else 0.0,
    length=lambda _, x, y, z: math.sqrt(x * x + y * y + z * z),
    divide=lambda _, x, y: x / y if y else 0.0,
    sin=math.sin,
    cos=math.cos,
    atan2=math.atan2,
    acos=lambda _, x: math.acos(-1.0 if x < -1.0 else 1.0 if x > 1.0 else x),
    exp=lambda _, x: math.exp(x if x < LARGEST_POWER else LARGEST_POWER),
    round=lambda _, x: float(round(x)) if math.isfinite(x) else x,
    absolute=abs,
    # Several times as fast as the built-in functions, which take any number of arguments.
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
    return tuple([np.where(condition, one, other) for one, other in zip(yes, no, strict=True)])


ARRAYS = _make(
    sqrt=lambda _, x: np.sqrt(np.maximum(x, 0.0)),
    length=lambda _, x, y, z: np.sqrt(x * x + y * y + z * z),
    divide=_divide,
    sin=np.sin,
    cos=np.cos,
    atan2=np.arctan2,
    acos=lambda _, x: np.arccos(np.minimum(np.maximum(x, -1.0), 1.0)),
    exp=lambda _, x: np.exp(np.minimum(x, LARGEST_POWER)),
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
