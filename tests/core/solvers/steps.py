"""Single sweeps of chains of free joints, in floats and in arrays."""

import numpy as np

from blender_ik_addon.core.solving.sweeps import Sweeps, sweep_points


def stepped_points(name, joints, target):
    """Return the joints (n + 1, 3) after one iteration, the same for one chain and for many."""
    lengths = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    arguments = joints[..., None], lengths[:, None], np.asarray(target)[:, None]
    limits = np.array([-1.0]), np.array([1])
    alone, together = (
        sweep_points(Sweeps(name == "CCD", is_few), *arguments, *limits).points[..., 0]
        for is_few in (True, False)
    )
    assert np.abs(alone - together).max() < 1e-12 * lengths.sum()
    return alone
