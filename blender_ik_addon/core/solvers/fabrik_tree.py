"""FABRIK for trees: sweeps inward from all targets and one outward, in the ranges of the joints."""

from __future__ import annotations

import numpy as np

from ..algebra import arrays, quaternions, turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import unit
from ..kinematics.bones import aim_bone
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..kinematics.posed import Posed

# A bone that carries several ends stays as it is where they do not tell how it shall turn, by this
# share of what they tell where they do.
STAYS = 1e-3


def step(state: Array, tree: KinematicTree, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration.

    Args:
        state: As ``kinematic_tree`` tells, shape (n + 1, C, B).
        tree: The trees.
        target: Of the effectors, times the roots of their weights, shape (3 E, B).
        damping: Shape (B,); not used, handed through.

    Source: Aristidou and Lasenby, "FABRIK: A fast, iterative solver for the inverse kinematics
    problem", Graphical Models 73 (2011), section 5: where branches meet the means of what they ask
    for are taken, here by the weights of the effectors beyond; bones with several ends are turned
    as rigid bodies.
    """
    turn = state[:-1, :TURN]
    posed, places = tree.posed(state), tree.unweigh(target)
    heads = _sweep_inward(tree, posed, turn, places)
    return tree.make_state(_sweep_outward(tree, posed, turn, heads, places)), damping


def _ends(tree: KinematicTree, bone: int, heads: Array, tips: Array) -> tuple[Array, Array]:
    """Return what stands at the ends of a bone, (m, 3, B), and its weights (m, B)."""
    branches, square = tree.topology, _weights(tree)
    children, carried = list(branches.children[bone]), list(branches.carried[bone])
    weights = [square[branches.moves[child]].sum(axis=0) for child in children]
    weights += [square[effector] for effector in carried]
    return np.concatenate((heads[children], tips[carried])), np.array(weights)


def _weights(tree: KinematicTree) -> Array:
    """Return the weights of the effectors, none quite zero, shape (E, B) or (E, 1)."""
    weights: Array = tree.sqrt_weights * tree.sqrt_weights + arrays.NO_DIRECTION
    return weights


def _mean(points: Array, weights: Array) -> Array:
    mean: Array = (points * weights[:, None]).sum(axis=0) / weights.sum(axis=0)
    return mean


def _sweep_inward(tree: KinematicTree, posed: Posed, turn: Array, places: Array) -> Array:
    """Return the heads (n, 3, B) of bones hung on the targets, leaves first."""
    frames = turns.from_matrices(posed.frames)
    bones = turns.multiply(frames, turn)
    heads, hung = posed.heads.copy(), bones.copy()
    for bone in reversed(range(len(turn))):
        if not tree.topology.moves[bone].any():
            continue
        stand, weights = _ends(tree, bone, posed.heads, posed.tips)
        wanted, _ = _ends(tree, bone, heads, places)
        way = _mean(stand, weights) - posed.heads[bone]
        place = _mean(wanted, weights)
        along = unit(way, np.zeros_like(way))
        swing = turns.between(along, unit(place - posed.heads[bone], along))
        whole = turns.multiply(swing, bones[bone])
        children = tree.topology.children[bone]
        if len(weights) == 1 and children and not tree.joints.is_free:
            # The bone after this one stands already: their joint has to allow how this one stands.
            child = children[0]
            offset = turns.multiply(turns.conjugate(bones[bone]), frames[child])
            joint = turns.multiply(turns.conjugate(turns.multiply(whole, offset)), hung[child])
            held = tree.joints.clamped_at(child, turns.normalize(joint))
            before = turns.multiply(hung[child], turns.conjugate(held))
            whole = turns.multiply(before, turns.conjugate(offset))
        hung[bone] = whole
        swing = turns.normalize(turns.multiply(whole, turns.conjugate(bones[bone])))
        heads[bone] = place - arrays.rotate(turns.to_matrices(swing), way)
    return heads


def _sweep_outward(
    tree: KinematicTree, before: Posed, turn: Array, heads: Array, places: Array
) -> Array:
    """Return turns (n, 4, B) of bones that point where their ends shall be, roots first."""
    turn = turn.copy()
    frames, stand = np.empty_like(before.frames), np.empty_like(before.heads)
    wholes = np.empty_like(before.whole)
    for bone, parent in enumerate(tree.topology.parents):
        frames[bone], stand[bone] = tree.joints.offsets[bone], tree.heads[bone]
        if parent >= 0:
            frames[bone] = arrays.compose(wholes[parent], frames[bone])
            stand[bone] = stand[parent] + arrays.rotate(wholes[parent], stand[bone])
        if tree.topology.moves[bone].any():
            ends, weights = _ends(tree, bone, before.heads, before.tips)
            wanted, _ = _ends(tree, bone, heads, places)
            back, onward = arrays.invert(before.frames[bone]), arrays.invert(frames[bone])
            levers = arrays.rotate(back, ends - before.heads[bone])
            ways = arrays.rotate(onward, wanted - stand[bone])
            turn[bone] = _point_bone(tree, bone, turn[bone], levers, ways, weights)
        wholes[bone] = arrays.compose(frames[bone], turns.to_matrices(turn[bone]))
    return turn


def _point_bone(
    tree: KinematicTree, bone: int, turn: Array, levers: Array, ways: Array, weights: Array
) -> Array:
    """Return the turns (4, B) of a bone that bring its levers (m, 3, B) nearest to ways."""
    if len(levers) > 1:
        swing = _fit_rotations(levers, ways, weights)
        turned = turns.normalize(turns.multiply(swing, turn))
        return tree.joints.clamped_at(bone, turned)
    own = compile_bones(tree, is_few=False)[0].bones[bone]
    rotation = tuple(turn)
    lever, way = (quaternions.unrotate(rotation, tuple(each[0])) for each in (levers, ways))
    return np.array(aim_bone(ARRAYS, own, rotation, lever, way))


def _fit_rotations(levers: Array, ways: Array, weights: Array) -> Array:
    """Return the rotations (4, B) that bring levers (m, 3, B) nearest to ways.

    Source: Davenport's q-method (Markley and Mortari, "Quaternion attitude estimation using vector
    observations", Journal of the Astronautical Sciences 48, 2000).
    """
    profile = np.einsum("mib,mjb,mb->bij", ways, levers, weights)
    size = np.einsum("mib,mib,mb->b", levers, levers, weights)
    profile = profile + STAYS * size[:, None, None] * np.eye(3)
    trace = np.einsum("bii->b", profile)[:, None, None]
    matrix = np.empty((len(profile), 4, 4))
    matrix[:, 1:, 1:] = profile + profile.transpose(0, 2, 1) - trace * np.eye(3)
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        matrix[:, 0, i] = matrix[:, i, 0] = profile[:, k, j] - profile[:, j, k]
    matrix[:, 0, 0] = trace[:, 0, 0]
    best = np.linalg.eigh(matrix)[1][..., -1].T
    fitted: Array = best * np.where(best[:1] < 0.0, -1.0, 1.0)
    return fitted
