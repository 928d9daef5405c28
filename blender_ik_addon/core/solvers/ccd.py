"""CCD: one iteration turns every joint, tip first, so that the effector points at the target."""

from __future__ import annotations

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, dot, norm, smoothstep, subtract
from ..kinematics.bones import Bones, Targets, aim_bone

# If effector or target is closer to a joint than this share of the chain's length, the joint turns
# only part of the way: its direction means little, and whole turns make the chain jitter there.
MIN_LEVER = 0.05


def step(
    m: Arithmetic, chain: Bones, rotations: tuple[Quaternion, ...], targets: Targets
) -> tuple[tuple[Quaternion, ...], Number]:
    """Return the local rotations after one iteration, and the distance left to the target.

    The target is carried outward into the axes of each joint: the joints before it move target and
    effector alike. Then the effector is carried inward, from the axes of each joint to those of the
    joint before, and each joint turns it toward the target as far as its range allows.

    Source: Wang and Chen, "A combined optimization method for solving the inverse kinematics
    problem of mechanical manipulators", IEEE Trans. Robotics and Automation 7 (1991), section III;
    the fade for short levers is derived for this project.
    """
    bones, short = chain.bones, MIN_LEVER * chain.reach
    offset = subtract(targets.places[0], chain.roots[0][1])
    carried = _carry_outward(chain, rotations, offset)
    turned = list(rotations)
    effector: Vector | None = None
    for i in reversed(range(len(bones))):
        bone, wanted = bones[i], carried[i]
        segment = bone.segments[0]
        lever = segment if effector is None else add(segment, effector)
        least = m.minimum(dot(lever, lever), dot(wanted, wanted)) * (bone.scale * bone.scale)
        share = None
        if m.any(least < short * short):
            share = smoothstep(m, m.sqrt(least), 0.0, short)
        turned[i] = aim_bone(m, bone, rotations[i], lever, wanted, share)
        effector = quaternions.rotate(turned[i], lever)
        if bone.offset is not None:
            effector = matrices.transform(bone.offset, effector)
    assert effector is not None
    return tuple(turned), norm(m, subtract(offset, effector))


def _carry_outward(
    chain: Bones, rotations: tuple[Quaternion, ...], carried: Vector
) -> list[Vector]:
    """Return the target from the head of each bone, in the bone's posed axes."""
    ways = []
    for bone, rotation in zip(chain.bones, rotations, strict=True):
        if bone.inverse is not None:
            carried = matrices.transform(bone.inverse, carried)
        carried = quaternions.unrotate(rotation, carried)
        ways.append(carried)
        carried = subtract(carried, bone.segments[0])
    return ways
