"""Products and sums along bones: in few rounds, what comes of going from bone to bone."""

import numpy as np
import pytest

from blender_ik_addon.core import Topology
from blender_ik_addon.core.kinematics.posed import accumulate_products, accumulate_sums
from tests.helpers import make_rng

CHAINS = 5


def some_parents(count, kind):
    """Return a chain, a fork at every second bone, or any tree with two roots."""
    if kind == "chain":
        return list(range(-1, count - 1))
    if kind == "fork":
        return [-1, *((bone - 1) // 2 for bone in range(1, count))]
    rng = make_rng(count)
    return [-1, -1, *(int(rng.integers(0, bone)) for bone in range(2, count))][:count]


@pytest.mark.parametrize("kind", ["chain", "fork", "roots"])
@pytest.mark.parametrize("count", [1, 5, 31])
def test_bones_gather_what_their_ancestors_have(count, kind):
    parents = some_parents(count, kind)
    topology, rng = Topology(parents, [count - 1]), make_rng(9)
    matrices = rng.normal(size=(count, 3, 3, CHAINS)) / 2.0
    vectors = rng.normal(size=(count, 3, CHAINS))
    products, sums = matrices.copy(), vectors.copy()
    for bone, parent in enumerate(parents):
        if parent >= 0:
            products[bone] = np.einsum("ijb,jkb->ikb", products[parent], matrices[bone])
            sums[bone] = sums[parent] + vectors[bone]
    found = accumulate_products(matrices, topology.bone_rounds)
    np.testing.assert_allclose(found, products, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(accumulate_sums(vectors, topology.bone_rounds), sums, atol=1e-9)
