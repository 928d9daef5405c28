"""CCD: one iteration turns every joint, tip first, so that the effector points at the target."""

from __future__ import annotations

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, dot, norm, smoothstep, subtract
from ..kinematics.bones import Bones, Targets, aim_bone

# Share of the chain's length: a joint closer than this to the effector or the target turns only
# part of the way. Its direction means little there, and whole turns make the chain jitter.
MIN_LEVER = 0.05


def step(
    m: Arithmetic, chain: Bones, rotations: tuple[Quaternion, ...], targets: Targets
) -> tuple[tuple[Quaternion, ...], Number]:
    """Return the local rotations after one iteration, and the distance left to the target.

    The offset to the target is carried outward, into the axes of each joint: the joints before it
    move target and effector alike. The effector is then carried inward, from the axes of each joint
    to those of the joint before. Each joint turns it toward the target as far as its range allows.

    Source: Wang and Chen, "A combined optimization method for solving the inverse kinematics
    problem of mechanical manipulators", IEEE Trans. Robotics and Automation 7 (1991), section III;
    the fade for short levers is derived for this project.
    """
    bones, fade_length = chain.bones, MIN_LEVER * chain.reach
    root_to_target = subtract(targets.places[0], chain.roots[0][1])
    offsets = _carry_outward(chain, rotations, root_to_target)
    turned = list(rotations)
    effector: Vector | None = None
    for i in reversed(range(len(bones))):
        bone, offset = bones[i], offsets[i]
        segment = bone.segments[0]
        lever = segment if effector is None else add(segment, effector)
        square = m.minimum(dot(lever, lever), dot(offset, offset)) * (bone.scale * bone.scale)
        share = None
        if m.any(square < fade_length * fade_length):
            share = smoothstep(m, m.sqrt(square), 0.0, fade_length)
        turned[i] = aim_bone(m, bone, rotations[i], lever, offset, share)
        effector = quaternions.rotate(turned[i], lever)
        if bone.offset is not None:
            effector = matrices.transform(bone.offset, effector)
    assert effector is not None
    return tuple(turned), norm(m, subtract(root_to_target, effector))


def _carry_outward(chain: Bones, rotations: tuple[Quaternion, ...], offset: Vector) -> list[Vector]:
    """Return the offsets from the head of each bone to the target, in the bone's posed axes."""
    offsets = []
    for bone, rotation in zip(chain.bones, rotations, strict=True):
        if bone.inverse is not None:
            offset = matrices.transform(bone.inverse, offset)
        offset = quaternions.unrotate(rotation, offset)
        offsets.append(offset)
        offset = subtract(offset, bone.segments[0])
    return offsets
