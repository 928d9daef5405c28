"""Rigs whose bones stretch, and what is measured of them."""

from __future__ import annotations

import numpy as np

from tests.blender.setups import rigs
from tests.helpers import assert_positions_close

DIRECTION = np.array([0.36, 0.48, 0.8])
REACHED = 2e-5
"""How far a reached target may be: default tolerance, and float32 on scales and rotations."""


def stretchy(count=3, share=0.5, inherited="FULL", **settings):
    """Return a rig whose bones may all stretch, its target, and its chain; targets out of reach."""
    ob = rigs.make_rig(rigs.zigzag(count))
    for bone in ob.pose.bones:
        bone.ik_stretch = share
        bone.bone.inherit_scale = inherited
    target = rigs.make_empty(location=1.4 * count * DIRECTION)
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, use_stretch=True, **settings)
    rigs.updated()
    return ob, target, chain


def scales(ob):
    return np.array([bone.scale for bone in ob.pose.bones])


def lengths(ob):
    names = [bone.name for bone in ob.pose.bones]
    return np.array([np.linalg.norm(rigs.tail(ob, name) - rigs.head(ob, name)) for name in names])


def assert_lands(ob, chain, target, bone=None):
    bone = bone or ob.pose.bones[-1].name
    assert_positions_close(rigs.tail(ob, bone), rigs.position(target), REACHED)
    assert chain.status.startswith("Reached"), chain.status
    assert chain.residual <= REACHED


def assert_unstretched(ob):
    assert np.array_equal(scales(ob), np.ones((len(ob.pose.bones), 3)))
