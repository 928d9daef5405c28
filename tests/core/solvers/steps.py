"""Single sweeps of chains of free joints, in floats and in arrays."""

import numpy as np

from blender_ik_addon.core import Solver
from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from blender_ik_addon.core.algebra.nested import to_numbers
from blender_ik_addon.core.solving.sweeps import sweep_points


def stepped_points(name, joints, target):
    """Return the joints (n + 1, 3) after one iteration, the same for one chain and for many."""
    lengths = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    given = (joints, 2), (lengths, 1), (np.asarray(target), 1)
    one = [to_numbers(array, depth) for array, depth in given]
    many = [to_numbers(array[..., None], depth) for array, depth in given]
    alone = np.array(sweep_points(FLOATS, Solver(name), *one, -1.0, 1)[0])
    limits = np.array([-1.0]), np.array([1])
    together = np.array(sweep_points(ARRAYS, Solver(name), *many, *limits)[0])[..., 0]
    assert np.abs(alone - together).max() < 1e-12 * lengths.sum()
    return alone
