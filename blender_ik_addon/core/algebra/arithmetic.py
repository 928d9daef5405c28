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
Number = Any
"""float | Array: what holds of one holds of the other, which is what tests prove."""
Condition = Any
"""bool | Flags; combined by & and |, negated by ``Arithmetic.negate``."""


class Arithmetic(Protocol):
    """What formulas need besides +, -, * and comparisons."""

    def sqrt(self, x: Number, /) -> Number:
        """Return the root; zero for what rounding has brought below zero."""

    def length(self, x: Number, y: Number, z: Number, /) -> Number:
        """Return the root of the sum of three squares."""

    def divide(self, x: Number, y: Number, /) -> Number:
        """Return x / y; zero where y is zero."""

    def sin(self, x: Number, /) -> Number:
        """Return the sine."""

    def cos(self, x: Number, /) -> Number:
        """Return the cosine."""

    def atan2(self, y: Number, x: Number, /) -> Number:
        """Return the angle of a point, zero for the origin."""

    def acos(self, x: Number, /) -> Number:
        """Return the angle of a cosine; beyond 1 and -1 as there."""

    def exp(self, x: Number, /) -> Number:
        """Return e to a power of at most 700."""

    def log(self, x: Number, /) -> Number:
        """Return the natural logarithm; -inf for zero."""

    def round(self, x: Number, /) -> Number:
        """Return the nearest whole number, of two the even one."""

    def absolute(self, x: Number, /) -> Number:
        """Return the size."""

    def minimum(self, x: Number, y: Number, /) -> Number:
        """Return the smaller one."""

    def maximum(self, x: Number, y: Number, /) -> Number:
        """Return the greater one."""

    def is_finite(self, x: Number, /) -> Condition:
        """Tell whether a number is neither endless nor NaN."""

    def where(self, condition: Condition, yes: Number, no: Number, /) -> Number:
        """Return one number or the other; both have been computed."""

    def negate(self, condition: Condition, /) -> Condition:
        """Tell whether a condition does not hold."""

    def all(self, condition: Condition, /) -> bool:
        """Tell whether a condition holds of all chains."""

    def any(self, condition: Condition, /) -> bool:
        """Tell whether a condition holds of any chain."""

    # Sums over what a chain consists of: arrays (n, 3) for one chain, (n, 3, B) for many.

    def total(self, a: Array, b: Array, /) -> Any:
        """Return the sum over the bones of products of numbers (n, ...) or vectors (n, 3, ...)."""

    def project(self, vectors: Array, axis: Array, /) -> Array:
        """Return the scalar products of vectors (n, 3, ...) with one axis (3, ...)."""

    def square(self, vectors: Array, /) -> Array:
        """Return the squared lengths of vectors (n, 3, ...)."""

    def place(self, vectors: Array, frame: Array, /) -> Array:
        """Return vectors (n, 3, ...) given along the rows of a frame (3, 3, ...)."""


LARGEST_POWER = 700.0
# A product with it adds up the components of every row, quicker than a sum along an axis.
ONES = np.ones(3)


class Floats:
    """The arithmetic of one chain."""

    sin = staticmethod(math.sin)
    cos = staticmethod(math.cos)
    atan2 = staticmethod(math.atan2)
    absolute: Callable[[Any], Any] = staticmethod(abs)
    is_finite = staticmethod(math.isfinite)
    all: Callable[[Any], bool] = staticmethod(bool)
    any: Callable[[Any], bool] = staticmethod(bool)

    def sqrt(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return math.sqrt(x) if x > 0.0 else 0.0

    def length(self, x: Any, y: Any, z: Any) -> Any:
        """See ``Arithmetic``."""
        return math.sqrt(x * x + y * y + z * z)

    def divide(self, x: Any, y: Any) -> Any:
        """See ``Arithmetic``."""
        return x / y if y else 0.0

    def acos(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return math.acos(-1.0 if x < -1.0 else 1.0 if x > 1.0 else x)

    def exp(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return math.exp(x if x < LARGEST_POWER else LARGEST_POWER)

    def log(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return math.log(x) if x > 0.0 else -math.inf

    def round(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return float(round(x)) if math.isfinite(x) else x

    def total(self, a: Any, b: Any) -> Any:
        """See ``Arithmetic``."""
        return a.T.dot(b).tolist()

    def project(self, vectors: Any, axis: Any) -> Any:
        """See ``Arithmetic``."""
        return vectors.dot(axis)

    def square(self, vectors: Any) -> Any:
        """See ``Arithmetic``."""
        return (vectors * vectors).dot(ONES)

    def place(self, vectors: Any, frame: Any) -> Any:
        """See ``Arithmetic``."""
        return vectors.dot(frame)

    # Several times as fast as the built-in functions, which take any number of arguments.
    def minimum(self, x: Any, y: Any) -> Any:
        """See ``Arithmetic``."""
        return y if y < x else x

    def maximum(self, x: Any, y: Any) -> Any:
        """See ``Arithmetic``."""
        return y if y > x else x

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """See ``Arithmetic``."""
        return yes if condition else no

    def negate(self, condition: Any) -> Any:
        """See ``Arithmetic``."""
        return not condition


class Arrays:
    """The arithmetic of chains side by side."""

    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    atan2 = staticmethod(np.arctan2)
    absolute = staticmethod(np.abs)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    is_finite = staticmethod(np.isfinite)
    round = staticmethod(np.rint)
    where: Callable[[Any, Any, Any], Any] = staticmethod(np.where)
    negate = staticmethod(np.logical_not)

    def sqrt(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return np.sqrt(np.maximum(x, 0.0))

    def length(self, x: Any, y: Any, z: Any) -> Any:
        """See ``Arithmetic``."""
        return np.sqrt(x * x + y * y + z * z)

    def divide(self, x: Any, y: Any) -> Any:
        """See ``Arithmetic``."""
        is_zero = np.equal(y, 0.0)
        if not is_zero.any():
            return x / y
        return np.where(is_zero, 0.0, x / np.where(is_zero, 1.0, y))

    def acos(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return np.arccos(np.minimum(np.maximum(x, -1.0), 1.0))

    def exp(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        return np.exp(np.minimum(x, LARGEST_POWER))

    def log(self, x: Any) -> Any:
        """See ``Arithmetic``."""
        is_positive = np.greater(x, 0.0)
        return np.where(is_positive, np.log(np.where(is_positive, x, 1.0)), -np.inf)

    def all(self, condition: Any) -> bool:
        """See ``Arithmetic``."""
        return bool(np.all(condition))

    def any(self, condition: Any) -> bool:
        """See ``Arithmetic``."""
        return bool(np.any(condition))

    def total(self, a: Any, b: Any) -> Any:
        """See ``Arithmetic``."""
        if a.ndim == 3:
            return np.einsum("nib,njb->ijb", a, b)
        return np.einsum("nb,n...b->...b", a, b)

    def project(self, vectors: Any, axis: Any) -> Any:
        """See ``Arithmetic``."""
        return np.einsum("nkb,kb->nb", vectors, axis)

    def square(self, vectors: Any) -> Any:
        """See ``Arithmetic``."""
        return np.einsum("nkb,nkb->nb", vectors, vectors)

    def place(self, vectors: Any, frame: Any) -> Any:
        """See ``Arithmetic``."""
        return np.einsum("nkb,kjb->njb", vectors, frame)


FLOATS, ARRAYS = Floats(), Arrays()
