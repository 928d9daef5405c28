"""Anderson acceleration of FABRIK: from the last sweeps, guess where they are going.

FABRIK's sweeps converge linearly, near full reach very slowly. Written as g(x), a sweep leaves the
residual F(x) = g(x) - x, and F is nearly linear in x close to where it vanishes. So the mix of the
last sweeps whose residual is least is a better guess of the pose they lead to than the last sweep
itself. A guess is taken only where it is nearer to the target and bends the chain the same way;
elsewhere the plain sweep is. The poses at rest are those of FABRIK: there F is zero, and so is
whatever is mixed in.

Layout as in ``vectors``. Chains do not influence each other: every sum is added up in an order that
does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import fabrik
from .vectors import NO_DIRECTION, Array, Flags

# Changes from sweep to sweep that a guess is made of.
MEMORY = 3
# Plain sweeps before the first guess. The first sweeps settle the look of the pose and are far from
# linear: guesses made of them meet the target as well, but in another pose than FABRIK's.
RUN_IN = 3
# Share of its square added to each change: keeps changes that are nearly parallel apart, and the
# rounding of their products out of the pose.
RIDGE = 1e-8
# Past sweeps that tell something only by their differences get weights beyond this sum. There the
# newest change alone is used: the others lead out of FABRIK's pose, if not to one where it is
# stuck.
MOST_WEIGHT = 10.0
# Inner joints that tell the side to which a long chain is bent.
ENOUGH_JOINTS = 5

# Count of sweeps, in a history, of a chain that shall never be accelerated.
NEVER = -np.inf

# Rows of the history before the poses.
COUNTS = 2


def first_history(points: Array) -> Array:
    """Return the history before the first step.

    Args:
        points: Start poses relative to the roots, shape (n + 1, 3, B).

    Returns:
        Zeros, shape (2 + 18 n, B). The first rows count sweeps, and changes that still hold. The
        others are three times residual and sweep of all joints but the root, (3, 2, 3 n, B): of
        the last step, and their last two changes, the newer first. All numbers of a chain are in
        one entry of the last axis; to go on with some of the chains, take theirs.
    """
    return np.zeros((COUNTS + MEMORY * 6 * (len(points) - 1), points.shape[-1]))


def step(points: Array, lengths: Array, target: Array, history: Array) -> tuple[Array, Array]:
    """Return the joints after one accelerated iteration.

    The tip gets at least as near to the target as by a sweep of FABRIK from the same pose.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        history: From ``first_history`` or the step before.

    Returns:
        The new joints, and the history for the next step.

    Source: Anderson, "Iterative procedures for nonlinear integral equations", J. ACM 12 (1965);
    as least squares on changes: Walker and Ni, "Anderson acceleration for fixed-point iterations",
    SIAM J. Numer. Anal. 49 (2011); guesses only where they lower an error: Peng et al., "Anderson
    acceleration for geometry optimization and physics simulation", ACM Trans. Graph. 37 (2018).
    Run-in, limit of weight and side: derived for this project.
    """
    swept, _ = fabrik.step(points, lengths, target, history[0])
    following = _remembered(points, swept, history)
    sweeps, holding = history[:COUNTS]
    is_ready = sweeps >= RUN_IN
    if not is_ready.any():
        return swept, following
    latest, newest, middle = _pairs(following)
    mixed = _mixed(latest, [newest, middle, _pairs(history)[-1]], holding)
    guess, is_sound = _relaid(mixed.reshape(len(lengths), 3, -1), lengths)
    is_taken = is_ready & is_sound & _is_better(guess, swept, target)
    # Where a guess fails, the sweeps were not linear enough: their changes are forgotten.
    following[1] *= is_taken | ~is_ready
    np.copyto(guess, swept, where=~is_taken)
    return guess, following


def _pairs(history: Array) -> Array:
    return history[COUNTS:].reshape(MEMORY, 2, -1, history.shape[-1])


def _remembered(points: Array, swept: Array, history: Array) -> Array:
    """Return the history with a sweep added."""
    following = np.empty(history.shape)
    sweeps, holding = history[:COUNTS]
    following[0] = sweeps + 1.0
    # The last sweep of the run-in is the first whose change counts.
    following[1] = np.where(sweeps >= RUN_IN - 1, np.minimum(holding + 1.0, MEMORY - 1), 0.0)
    before, now = _pairs(history), _pairs(following)
    residual, sweep = now[0]
    sweep[:] = swept[1:].reshape(sweep.shape)
    np.subtract(sweep, points[1:].reshape(sweep.shape), out=residual)
    np.subtract(now[0], before[0], out=now[1])
    now[2:] = before[1:-1]
    return following


def _mixed(latest: Array, changes: Sequence[Array], holding: Array) -> Array:
    """Return the joints but the root, (3 n, B), where the residual would be least.

    Args:
        latest: Residual and sweep, shape (2, 3 n, B).
        changes: Of both, each (2, 3 n, B), the newest first.
        holding: How many changes after the newest hold, shape (B,).
    """
    residual, sweep = latest
    product = np.empty_like(residual)
    weights = _weights([change for change, _ in changes], residual, holding, product)
    mixed: Array = sweep.copy()
    for weight, (_, change) in zip(weights, changes, strict=True):
        np.multiply(change, weight, out=product)
        mixed -= product
    return mixed


def _weights(changes: Sequence[Array], residual: Array, holding: Array, product: Array) -> Array:
    """Return how much of changes (k, B) to take off the residual (k, B), shape (m, B).

    The product is working space of the shape of the residual: fresh arrays cost more than sums.
    """
    count, chains = len(changes), residual.shape[-1]
    gram, load = np.empty((count, count, chains)), np.empty((count, chains))
    for i, change in enumerate(changes):
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = _total(np.multiply(change, changes[j], out=product))
        load[i] = _total(np.multiply(change, residual, out=product))
    square = np.einsum("iib->ib", gram)
    holds = (np.arange(count)[:, None] <= holding) & (square > 0.0)
    size = np.sqrt(np.where(holds, square, 1.0))
    share = holds / size
    gram *= share[:, None] * share
    load *= share
    newest = load[0] * share[0]
    square[:] = 1.0 + RIDGE
    weights: Array = _solved(gram, load) * share
    # Weights of changes, written as weights of the sweeps between which they lie.
    of_sweeps = weights.copy()
    of_sweeps[:-1] -= weights[1:]
    is_wild = np.abs(of_sweeps).sum(axis=0) > MOST_WEIGHT
    if is_wild.any():
        weights[:, is_wild] = 0.0
        weights[0] = np.where(is_wild, newest, weights[0])
    return weights


def _solved(gram: Array, load: Array) -> Array:
    """Solve positive definite systems (m, m, B) for (m, B), in place.

    Source: Gaussian elimination, which needs no pivoting here.
    """
    count = len(load)
    for i in range(count - 1):
        factors = gram[i + 1 :, i] / gram[i, i]
        gram[i + 1 :] -= factors[:, None] * gram[i]
        load[i + 1 :] -= factors * load[i]
    for i in reversed(range(count)):
        load[i] /= gram[i, i]
        load[:i] -= gram[:i, i] * load[i]
    return load


def _relaid(joints: Array, lengths: Array) -> tuple[Array, Flags]:
    """Return chains with the lengths restored, from root to tip, and which chains have directions.

    Args:
        joints: All but the root, shape (n, 3, B).
        lengths: Shape (n, B).
    """
    segments = joints.copy()
    segments[1:] -= joints[:-1]
    present = np.sqrt(_total(segments * segments))
    segments *= (lengths / np.maximum(present, NO_DIRECTION))[:, None, :]
    laid = np.empty((len(joints) + 1, *joints.shape[1:]))
    laid[0] = 0.0
    # Several times as fast as np.cumsum along the first axis.
    for i, segment in enumerate(segments):
        np.add(laid[i], segment, out=laid[i + 1])
    is_sound: Flags = present.min(axis=0) > NO_DIRECTION
    return laid, is_sound


def _is_better(guess: Array, swept: Array, target: Array) -> Flags:
    """Tell where guesses are nearer to the target than the sweep, and bent to the same side.

    Near full reach the other side is not far off, and a tip may get there sooner.
    """
    guess_gap, swept_gap = target - guess[-1], target - swept[-1]
    is_nearer = _total(guess_gap * guess_gap) < _total(swept_gap * swept_gap)
    chord = target / np.maximum(np.sqrt(_total(target * target)), NO_DIRECTION)
    inner = slice(1, -1, max(1, len(swept) // ENOUGH_JOINTS))
    bend = swept[inner] - _total(swept[inner] * chord)[:, None, :] * chord
    is_better: Flags = is_nearer & (_total(_total(guess[inner] * bend)) > 0.0)
    return is_better


def _total(products: Array) -> Array:
    """Return the sums of (..., k, B) over k, added up in one order whatever B is.

    Near full reach the weights magnify rounding, and the size of the batch would show in the pose.
    """
    if products.shape[-1] == 1:
        return np.cumsum(products, axis=-2)[..., -1, :]
    total: Array = products.sum(axis=-2)
    return total
