"""The bend faces the pole, turned by the pole angle or flipped; derivatives of pole errors."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    solve,
    solve_batch,
)
from blender_ik_addon.core.algebra import rotation, turns
from blender_ik_addon.core.algebra.chains_first import chains_first
from blender_ik_addon.core.descent.bone_rows import BoneRows
from blender_ik_addon.core.kinematics.aims import Aims, Poles
from blender_ik_addon.core.model.joints import free_joints
from blender_ik_addon.core.model.topology import Topology, make_chain
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core import chains
from tests.core.limited_rigs import RIGS, at_rest, rolled_offsets
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

# The bend is turned to the pole after the last iteration, so its error is rounding; a side is a
# small difference of the joints' coordinates.
SIDE_TOLERANCE = 1e-9
TOLERANCE = 1e-9
every_solver = pytest.mark.parametrize(("count", "solver"), chains.EVERY_SOLVER)


def problem(count, seed=0, pose="arc", share=0.75):
    """Return a chain, a target well within reach, and a pole beside it."""
    rng = make_rng(100 * count + seed)
    chain = chains.start_chain(pose, count, rng)
    target = chains.target_at(chain, share * chain.max_reach, chains.random_direction(rng))
    return chain, target, chains.pole_beside(chain, target, rng)


@pytest.mark.parametrize("pose", ["arc", "straight"])
@every_solver
def test_the_bend_faces_the_pole_and_flipped_the_other_side(count, solver, pose):
    for seed in range(2):
        chain, target, pole = problem(count, seed, pose)
        root = chain.joint_positions[0]
        for goal in (Goal(target, pole), Goal(target)):
            plain = chains.solved(chain, goal, solver, TOLERANCE)
            flipped = chains.solved(chain, goal, solver, TOLERANCE, use_flip_bend=True)
            assert plain.is_converged
            assert flipped.status is Status.REACHED
            side, other = (
                chains.unit(chains.side_of(s.joint_positions, target)) for s in (plain, flipped)
            )
            assert_positions_close(other, -side, 1e-6)
            if goal.pole_position is not None:
                expected = chains.unit(chains.side_of(np.array([root, pole, target]), target))
                assert_positions_close(side, expected, 1e2 * SIDE_TOLERANCE)
            if pose == "arc":
                joints = plain.joint_positions
                mirrored = joints - 2.0 * ((joints - root) @ side)[:, None] * side
                same = 1e2 * TOLERANCE * chain.max_reach
                assert_positions_close(flipped.joint_positions, mirrored, same)


@pytest.mark.parametrize("angle", np.radians([-135.0, 20.0, 360.0]))
@every_solver
def test_the_pole_angle_turns_the_pose_about_the_chord(count, solver, angle):
    chain, target, pole = problem(count)
    root = chain.joint_positions[0]
    plain = chains.solved(chain, Goal(target, pole), solver, TOLERANCE).joint_positions
    turned = chains.solved(chain, Goal(target, pole, angle), solver, TOLERANCE).joint_positions
    turn = chains.turned_about(chains.unit(target - root), angle)
    # Except for the tolerance, this is the same pose, turned.
    expected = root + (plain - root) @ turn.T
    assert_positions_close(turned, expected, 1e2 * TOLERANCE * chain.max_reach)


@pytest.mark.parametrize("degrees", [0.0, 2.9])
@pytest.mark.parametrize("toward", [1.0, -1.0])
# Without a pole FABRIK and CCD choose another side.
@pytest.mark.parametrize(("count", "solver"), [(2, Solver.TWO_BONE), (3, Solver.NEWTON)])
def test_a_pole_on_the_line_to_the_target_gives_no_side(count, solver, toward, degrees):
    chain, target, beside = problem(count)
    root = chain.joint_positions[0]
    along = chains.unit(target - root)
    across = chains.unit(chains.side_of(np.array([root, beside, target]), target))
    angle = np.radians(degrees)
    pole = root + 3.0 * toward * (np.cos(angle) * along + np.sin(angle) * across)
    with_pole = chains.solved(chain, Goal(target, pole), solver, TOLERANCE).joint_positions
    without = chains.solved(chain, target, solver, TOLERANCE).joint_positions
    assert_positions_close(with_pole, without, 1e2 * TOLERANCE * chain.max_reach)


@every_solver
def test_an_extended_chain_rolls_with_the_pole_and_does_not_flip(count, solver):
    chain, target, pole = problem(count, share=1.2)
    angle = 0.8
    before = chains.solved(chain, Goal(target, pole), solver)
    after = chains.solved(chain, Goal(target, pole, angle), solver)
    assert_positions_close(after.joint_positions, before.joint_positions, 1e-12)
    axis = chains.unit(target - chain.joint_positions[0])
    turn = rotation.quaternion_from_axis_angle(np.concatenate(([angle], axis)))
    expected = rotation.multiply(turn, bone_rotations(chain, before))
    assert_rotations_close(bone_rotations(chain, after), expected, 1e-9)
    flipped = chains.solved(chain, Goal(target, pole), solver, use_flip_bend=True)
    assert np.array_equal(flipped.joint_positions, before.joint_positions)


COUNT, STEP, LONG_STEP = 24, 1e-6, 1e-4


def poles_of(name, seed, share=None):
    """Return the kinematic tree of a rig, random turns (n, 4, B), and random poles.

    Targets are anywhere, or at a share of the reach.
    """
    rng, rig = make_rng(seed), RIGS[name]()
    compiled = compile_chains(rig.chains(COUNT))
    poses = np.array([rig.random_pose(rng, 0.9) for _ in range(COUNT)])
    target, position = rng.normal(size=(2, 1, 3, COUNT))
    if share is not None:
        target *= share * compiled.limbs.reach[:, None] / np.linalg.norm(target, axis=1)
    poles = Poles(compiled.limbs, target, position, np.zeros((1, COUNT)), np.ones(COUNT))
    return compiled.tree, compiled.tree.joints.to_turns(poses), poles


@pytest.mark.parametrize("share", [None, 0.97, 1.0])
@pytest.mark.parametrize("name", ["arm", "offset_bones", "tail"])
def test_slopes_of_poles_are_those_of_differences(name, share):
    tree, turn, poles = poles_of(name, 5, share)
    errors = poles.find_pole_errors(tree.pose(turn))
    # Some errors are below a quarter turn, and some above.
    assert (np.abs(errors) < 0.5 * np.pi).any()
    assert (np.abs(errors) > 0.5 * np.pi).any()
    slopes = poles.find_slopes(tree.pose(turn))
    for bone in range(len(turn)):
        for axis in range(3):
            move = np.zeros((len(turn), 3, COUNT))
            move[bone, axis] = STEP
            ends = [
                poles.find_pole_errors(tree.pose(turns.multiply(turns.from_vectors(way), turn)))
                for way in (move, -move)
            ]
            rise = (ends[0] - ends[1]) / (2.0 * STEP)
            np.testing.assert_allclose(slopes[bone, :, axis], rise, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["arm", "offset_bones", "tail"])
def test_poles_curve_as_differences_do(name):
    """The second derivatives along moves of the work of forces on effectors and poles.

    Nearer to full reach they leave out how first bones turn the side that they carry.
    """
    tree, turn, poles = poles_of(name, 6, 0.9)
    tree = replace(tree, aims=Aims(tree.topology, poles, None, tree.reach, tree.sqrt_weights))
    rows, rng = BoneRows(tree, np.zeros((len(turn), COUNT))), make_rng(6)
    force, move = rng.normal(size=(COUNT, 4)), rng.normal(size=(len(turn), 3, COUNT))

    def work_after(share):
        turned = turns.multiply(turns.from_vectors(share * move), turn)
        return (force * rows.find_output(rows.pose(chains_first(turned)))).sum(axis=1)

    pose = rows.pose(chains_first(turn))
    curved = rows.curve_outputs(pose, force, rows.find_jacobian(pose))
    flat_move = chains_first(move).reshape(COUNT, -1)
    along = np.einsum("bi,bij,bj->b", flat_move, curved, flat_move)
    before, here, after = (work_after(share) for share in (-LONG_STEP, 0.0, LONG_STEP))
    rise = (2.0 * here - before - after) / LONG_STEP**2
    assert (np.abs(along - rise) <= 1e-3 * (1.0 + np.abs(rise))).all()


def make_hinged(kind, bends, roll, hint):
    """Return a limb of bones of length one, bent about X; its second bone is rolled."""
    directions = [(0.0, np.cos(bend), -np.sin(bend)) for bend in np.cumsum((0.0, *bends))]
    points = np.concatenate((np.zeros((1, 3)), np.cumsum(directions, axis=0)))
    offsets = rolled_offsets(points, (0.0, roll, *(0.0 for _ in bends[1:])))
    low, high = np.full((len(bends) + 1, 3), -np.inf), np.full((len(bends) + 1, 3), np.inf)
    low[1], high[1] = -2.6, 2.6
    kinds = (JointKind.BALL, kind, *(JointKind.BALL for _ in bends[1:]))
    start = np.tile((1.0, 0.0, 0.0, 0.0), (len(kinds), 1))
    joints = Joints(kinds, offsets, start, low, high)
    return Chain(points, None if hint is None else np.array(hint), joints=joints)


@pytest.mark.parametrize(
    ("kind", "bends", "roll", "hint", "options"),
    [
        (JointKind.HINGE_X, (0.3,), 0.3, None, {"use_flip_bend": True}),
        (JointKind.HINGE_X, (0.3, 0.2), 0.3, None, {"keeps_start": True}),
        (JointKind.HINGE_Z, (0.0,), 0.0, (0.0, 0.0, 1.0), {}),
    ],
    ids=["flipped", "three bones that keep their start", "its hint along the axis of its knee"],
)
def test_a_bulge_faces_the_pole_where_the_first_bone_carries_no_side_of_use(
    kind, bends, roll, hint, options
):
    chain = make_hinged(kind, bends, roll, hint)
    target = 0.985 * (len(bends) + 1.0) * chains.unit(np.array((0.4, 0.9, 0.2)))
    pole = np.array((1.0, 0.5, -2.0))
    solution = chains.solved(chain, Goal(target, pole), Solver.NEWTON, 1e-9, **options)
    assert solution.status is Status.REACHED
    side = chains.unit(chains.side_of(solution.joint_positions, target))
    expected = chains.unit(chains.side_of(np.array([np.zeros(3), pole, target]), target))
    assert_positions_close(side, -expected if "use_flip_bend" in options else expected, 1e-4)


TURNING = "target_position", "pole_position", "tip_rotation_wxyz"


def turning_goal(chain: Chain, rng: np.random.Generator) -> Goal:
    """Return a goal for target, pole and rotation of the tip that can all be met."""
    turn, points = chains.unit(rng.normal(size=4)), chain.joint_positions
    wrist = 0.6 * (len(points) - 2) * chains.random_direction(rng)
    pole = chains.pole_beside(chain, wrist, rng)
    return Goal(wrist + rotation.rotate(turn, points[-1] - points[-2]), pole, 0.0, turn)


def past_pole(joints: np.ndarray, goal: Goal) -> float:
    """Return the degrees between the bend of all bones but the tip and the side of the pole."""
    return chains.pole_error_degrees(joints[:-1], joints[-2], goal.pole_position)


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("count", [3, 6])
def test_bones_before_a_turned_tip_face_the_pole_alone_in_batches_and_in_trees(count, weight):
    """Where a chain had joints, its tip counted too: bones were up to 60 degrees off."""
    rng, options = make_rng(count), SolveOptions(tolerance=1e-9, orient_weight=weight)
    hinged = make_hinged(JointKind.HINGE_X, rng.uniform(0.2, 0.5, count - 1), 0.0, None)
    joints = free_joints(hinged.joints.offsets, hinged.joints.start_wxyz)
    free, jointed = (replace(hinged, joints=those) for those in (None, joints))
    tree = replace(jointed, topology=make_chain(count))
    goals = [turning_goal(free, rng) for _ in range(12)]
    for goal in goals[:4]:
        of_tree = Goal(**{name: getattr(goal, name)[None] for name in TURNING})
        assert past_pole(solve(free, goal, options).joint_positions, goal) < 1e-3
        assert past_pole(solve(jointed, goal, options).joint_positions, goal) < 1e-3
        joints = solve(tree, of_tree, options).joint_positions[: count + 1]
        assert past_pole(joints, goal) < 1e-3
    same = np.zeros(len(goals), dtype=np.int64)
    rows = Goals(**{name: np.array([getattr(goal, name) for goal in goals]) for name in TURNING})
    batch = solve_batch(jointed.as_batch().take(same), rows, options)
    assert max(map(past_pole, batch.joint_positions, goals)) < 1e-3


def test_an_arm_within_limits_meets_its_pole_and_the_rotation_of_its_hand():
    """Where the hand counted as a part of the limb, 0 of 40 poses were found again."""
    rig, rng, met = RIGS["arm"](), make_rng(5), 0
    rest = rig.frames(at_rest(3))[-1]
    for pose in (rig.random_pose(rng) for _ in range(40)):
        points, tip = rig.points(pose), rig.frames(pose)[-1]
        side = chains.unit(chains.side_of(points[:-1], points[-2]))
        turn = turns.from_matrices((tip @ rest.T)[None, ..., None])[0, :, 0]
        goal = Goal(points[-1], 0.5 * points[-2] + rig.length * side, tip_rotation_wxyz=turn)
        solution = solve(rig.chain(), goal, rig.options(Solver.NEWTON))
        assert solution.status is Status.REACHED
        met += solution.tip_gap < 1e-3 and past_pole(solution.joint_positions, goal) < 0.1
    assert met >= 38


@pytest.mark.parametrize("turned", [(True, False), (False, True)])
def test_limbs_of_a_tree_face_their_poles_whichever_of_the_tips_turn(turned):
    rng = make_rng(8)
    hinged = make_hinged(JointKind.HINGE_X, rng.uniform(0.2, 0.5, 2), 0.0, None)
    offsets, start = (np.concatenate((part, part)) for part in (hinged.joints.offsets, at_rest(3)))
    points = np.concatenate([hinged.joint_positions[:-1]] * 2 + [hinged.joint_positions[-1:]] * 2)
    topology = Topology((-1, 0, 1, -1, 3, 4), (2, 5))
    tree = Chain(points, joints=free_joints(offsets, start), topology=topology)
    goals = [turning_goal(hinged, rng) for _ in turned]
    parts = {name: np.array([getattr(goal, name) for goal in goals]) for name in TURNING}
    solution = solve(tree, Goal(**parts, has_tip_rotation=turned), SolveOptions(tolerance=1e-9))
    for limb, goal in enumerate(goals):
        joints = solution.joint_positions[[*range(3 * limb, 3 * limb + 3), 6 + limb]]
        past = past_pole(joints, goal)
        if not turned[limb]:
            past = chains.pole_error_degrees(joints, goal.target_position, goal.pole_position)
        assert past < 1e-3
    assert solution.tip_gap.max() < 1e-6
