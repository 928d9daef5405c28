"""Edges kept to within a step take away what leads across them, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core.algebra.small_systems import solve_positive
from blender_ik_addon.core.kinematics import limit_edges
from blender_ik_addon.core.kinematics.limit_edges import Edges
from blender_ik_addon.core.solvers.active_limits import ActiveLimits
from tests.helpers import make_rng

BONES, ROWS, CHAINS = 4, 3, 5
# What rounding leaves.
ALIKE = 1e-12


def some_edges(rng):
    """Return edges of which joints stand on about half."""
    normals = rng.normal(size=(BONES, 3, 3, CHAINS))
    normals /= np.sqrt(np.einsum("neib,neib->neb", normals, normals))[:, :, None]
    is_on = rng.random((BONES, 3, CHAINS)) < 0.5
    return Edges(normals, is_on, np.zeros_like(is_on))


def as_powers(flags):
    """Return flags (n, 3, B) by powers of two."""
    return np.einsum("e,neb->nb", [1.0, 2.0, 4.0], flags)


def test_edges_kept_to_lower_systems_as_blocked_mobilities_do():
    rng = make_rng(5)
    edges, jacobian = some_edges(rng), rng.normal(size=(BONES, ROWS, 3, CHAINS))
    limits = ActiveLimits(edges, edges.normals, jacobian, as_powers(edges.is_on))
    whole = np.einsum("nkib,nlib->klb", jacobian, jacobian)
    mobility = np.broadcast_to(np.eye(3)[:, :, None], (BONES, 3, 3, CHAINS))
    for edge in range(3):
        mobility = limit_edges.block_normals(mobility, edges.normals[:, edge], edges.is_on[:, edge])
    blocked = np.einsum("nkib,nijb,nljb->klb", jacobian, mobility, jacobian)
    assert np.abs(whole + limits.system() - blocked).max() <= ALIKE * np.abs(whole).max()
    multiplier = rng.normal(size=(ROWS, CHAINS))
    limits.update(multiplier)
    free = np.einsum("nkib,kb->nib", jacobian, multiplier)
    wanted = np.einsum("nijb,njb->nib", mobility, free)
    assert np.abs(limits.held(free) - wanted).max() <= ALIKE * np.abs(free).max()


def test_an_edge_is_let_go_when_nothing_presses_on_it_any_more():
    normals = np.zeros((1, 3, 3, 2))
    normals[0, 0, 0] = 1.0
    is_on = np.zeros((1, 3, 2), dtype=np.bool_)
    is_on[0, 0] = True
    jacobian = np.eye(3)[None, :, :, None] * np.ones(2)
    edges = Edges(normals, is_on, np.zeros_like(is_on))
    limits = ActiveLimits(edges, normals, jacobian, as_powers(is_on))
    limits.system()
    outward, inward = np.array([1.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0])
    assert limits.update(np.stack((outward, inward), axis=1)).tolist() == [False, True]


@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_positive_systems_are_solved_as_lapack_solves_them(count):
    rng = make_rng(count)
    root = rng.normal(size=(count, count, CHAINS))
    system = np.einsum("ikb,jkb->ijb", root, root) + 0.1 * np.eye(count)[:, :, None]
    right = rng.normal(size=(count, CHAINS))
    found = solve_positive(system, right)
    assert np.abs(np.einsum("ijb,jb->ib", system, found) - right).max() <= 1e-10
