"""Bad input raises an error whose one sentence says what to do."""

import re
from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon import core
from tests.core.limited_rigs import RIGS, at_rest
from tests.core.tree_rigs import TREES

JOINTS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
TARGET = np.array([1.0, 1.0, 0.0])
BATCH, TARGETS = np.array([JOINTS] * 3), np.ones((3, 3))
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.5]])
TIPS = np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 1.0]])
BOTH = np.concatenate((HEADS, TIPS))
NAN, INFINITE = float("nan"), float("inf")
ARM, TREE = RIGS["arm"](), TREES["Y_4_3_3"]()

# Verbs, one of which every message must contain: an advice, not only a complaint.
ADVICE = re.compile(
    r"\b(check|choose|give|lengthen|leave|list|lower|put|raise|read|select|set|swap|take|use)\b",
    re.IGNORECASE,
)


def joints_with(index, value):
    joints = JOINTS.copy()
    joints[index] = value
    return joints


def solve_bones(count, goal=TARGET, **options):
    """Solve a chain of ``count`` bones."""
    chain = core.Chain(np.arange(count + 1)[:, None] * np.array([0.0, 1.0, 0.0]))
    return core.solve(
        chain,
        goal if isinstance(goal, core.Goal) else core.Goal(goal),
        core.SolveOptions(**options),
    )


def tree(parents=(-1, 0, 0), effector_bones=(1, 2), points=BOTH, **others):
    return core.Chain(points, topology=core.Topology(parents, effector_bones), **others)


def solve_tree(target=TIPS, **others):
    return core.solve(tree(), core.Goal(target, **others))


def forces(**others):
    """Return forces on three bones."""
    zeros = np.zeros((3, 3))
    good = {"stiffness": np.ones(3), "masses": np.ones(3), "gravity": np.zeros(3)}
    return core.Forces(**{**good, "comfort_low": zeros, "comfort_high": zeros, **others})


def joints(kinds=(core.JointKind.BALL,) * 3, **others):
    count = len(kinds)
    start = {"offsets": np.tile(np.eye(3), (count, 1, 1)), "start_wxyz": at_rest(count)}
    return core.Joints(kinds, **{**start, **others})


def flat_joints():
    return joints(offsets=np.tile(np.diag((1.0, 0.0, 1.0)), (3, 1, 1)))


def flat_tree():
    offsets = TREE.joints().offsets.copy()
    offsets[1, 2] = 0.0
    return replace(TREE.tree(), joints=replace(TREE.joints(), offsets=offsets))


def floating(parents):
    """Return a chain, or a tree with these parents, whose first bone floats."""
    topology = parents and core.Topology(parents, (1,))
    kinds = core.JointKind.FLOATING, core.JointKind.BALL
    return core.Chain(JOINTS[:3], joints=joints(kinds), topology=topology)


def floor(bone):
    return core.Floor((bone,), HEADS[:1], (0.0, 0.0, 1.0), np.zeros(3))


def rotations_of(chain, solution):
    return core.bone_rotations(chain, solution)


def read_rotations():
    chains = ARM.chains(2)
    return core.bone_rotations(chains, core.solve_batch(chains, core.Goals(TARGETS[:2])))


# Words of the message, and a function that must raise it.
CHAINS = {
    "one joint": ("two joint positions", lambda: core.Chain(JOINTS[:1])),
    "points of a plane": ("shape", lambda: core.Chain(JOINTS[:, :2])),
    "no numbers": ("numbers", lambda: core.Chain([["a", "b", "c"], ["d", "e", "f"]])),
    "a joint is not a number": ("finite", lambda: core.Chain(joints_with((1, 2), NAN))),
    "no length": (r"Segment 2 of the chain\b", lambda: core.Chain(joints_with(3, JOINTS[2]))),
    "hardly a length": ("Segment 0", lambda: core.Chain(joints_with(1, (0.0, 1e-10, 0.0)))),
    "no length among many": ("Segment 0 of chain 0", lambda: core.Chains(np.ones((2, 3, 3)))),
    "bend is not a number": ("finite", lambda: core.Chain(JOINTS, (NAN, 0.0, 0.0))),
    "bends of other chains": ("bend", lambda: core.Chains(BATCH, np.ones((2, 3)))),
    "a child first": ("parents first", lambda: tree([1, -1, 0])),
    "fractions": ("whole numbers", lambda: tree([-1.0, 0.0, 0.0])),
    "no such bone": ("index of a bone", lambda: tree(effector_bones=[1, 3])),
    "too few parents": ("", lambda: tree([-1, 0])),
    "too few effectors": ("2 effectors", lambda: tree(points=BOTH[:4])),
    "no effector": ("", lambda: tree(effector_bones=[], points=HEADS)),
    "no lever": (
        "never moves",
        lambda: tree(effector_bones=[0, 1], points=np.concatenate((HEADS, HEADS[[0, 0]]))),
    ),
    "hints of a chain": ("bend", lambda: tree(bend_direction=np.zeros((2, 3)))),
    "joints of another tree": ("one for each bone", lambda: tree(joints=TREE.joints())),
    "a flat bone": ("zero scale", flat_tree),
    "a tree that slides": (
        "cannot stretch",
        lambda: replace(TREE.tree(), joints=replace(TREE.joints(), slide_high=np.ones(10))),
    ),
    "a bone floats": ("first bone", lambda: joints((core.JointKind.BALL, core.JointKind.FLOATING))),
    "a chain floats": ("Only a whole tree", lambda: floating(None)),
    "two roots float": ("Only a whole tree", lambda: floating((-1, -1))),
    "a slide without end": ("infinite slide", lambda: joints(slide_high=np.full(3, INFINITE))),
    "a swapped range": ("swap", lambda: joints(low=np.ones((3, 3)), high=np.zeros((3, 3)))),
    "no mobility": ("mobility", lambda: joints(mobility=np.zeros((3, 3)))),
    "unturned": ("indices of bones", lambda: joints(unturned=(3,))),
    "one unturned": ("indices of bones", lambda: joints(unturned=1)),
    "half unturned": ("indices of bones", lambda: joints(unturned=(0.5,))),
    "one stiffness": ("single number", lambda: forces(stiffness=1.0)),
    "a range below infinity": ("lies at infinity", lambda: joints(low=INFINITE, high=INFINITE)),
    "a range above it": ("lies at infinity", lambda: joints(low=-INFINITE, high=-INFINITE)),
    "an infinite offset": ("finite", lambda: joints(offsets=np.full((3, 3, 3), INFINITE))),
    "a flat offset": ("flat", lambda: core.Chain(JOINTS, joints=flat_joints())),
    "an infinite start": ("finite", lambda: joints(start_wxyz=np.full((3, 4), INFINITE))),
    "a zero start": ("zero", lambda: joints(start_wxyz=np.zeros((3, 4)))),
    "an infinite axis": ("finite", lambda: joints(slide_axes=np.full((3, 3), INFINITE))),
    "huge points": ("huge", lambda: core.Chain(1e101 * JOINTS)),
    "kinds in words": ("JointKind", lambda: joints(("BALL", "BALL"))),
    "no such kind": ("FLOATING", lambda: joints((0, 99))),
    "one kind": ("for each bone", lambda: core.Joints(core.JointKind.BALL, np.eye(3), at_rest(1))),
    "no offsets": ("3 x 3", lambda: joints(offsets=None)),
    "a list as topology": ("Topology", lambda: core.Chain(BOTH, topology=[-1, 0, 0])),
    "a list as joints": ("Joints", lambda: core.Chain(JOINTS, joints=[0, 0, 0])),
    "an array as forces": ("Forces", lambda: core.Chain(JOINTS, forces=np.ones(3))),
    "points for a chain": ("Chain", lambda: core.solve(JOINTS, core.Goal(TARGET))),
    "one chain in a batch": (
        "Chains",
        lambda: core.solve_batch(core.Chain(JOINTS), core.Goals(TARGETS[:1])),
    ),
    "gravity without forces": ("forces first", lambda: core.Chains(BATCH).under(TARGETS)),
    "rotations of a tree": ("local rotations", lambda: rotations_of(tree(), solve_tree())),
    "rotations of another chain": (
        "that was solved",
        lambda: rotations_of(core.Chain(JOINTS), solve_bones(2)),
    ),
    "rotations of one of many": (
        "that was solved",
        lambda: rotations_of(core.Chains(BATCH), solve_bones(3)),
    ),
    "negative": ("below zero", lambda: forces(stiffness=-np.ones(3))),
    "other masses": ("shape", lambda: forces(masses=np.ones(2))),
    "infinite gravity": ("finite", lambda: forces(gravity=np.array([0.0, NAN, 0.0]))),
    "swapped comfort": ("swap", lambda: forces(comfort_low=np.ones((3, 3)))),
    "beyond half a turn": ("half a turn", lambda: forces(comfort_high=np.full((3, 3), 4.0))),
    "zero optimum": ("zero rotation", lambda: forces(optimum_wxyz=np.zeros((3, 4)))),
    "mode": ("step mode 'ROUGH'", lambda: forces(mode="ROUGH")),
    "gain": ("gain", lambda: forces(gain=0.0)),
    "a gain in words": ("gain", lambda: forces(gain="small")),
    "a gain that overflows": ("gain", lambda: forces(gain=1e300)),
    "forces of other bones": ("one for each bone", lambda: core.Chain(JOINTS[:3], forces=forces())),
    "rotations from positions": ("local rotations", read_rotations),
}
GOALS = {
    "target is not a number": ("finite", lambda: core.Goal((0.0, NAN, 0.0))),
    "a target at the end of numbers": ("huge", lambda: core.Goal((1e101, 0.0, 0.0))),
    "a pole at the end of numbers": ("huge", lambda: core.Goal(TARGET, (0.0, -1e101, 0.0))),
    "pole is not a number": ("finite", lambda: core.Goal(TARGET, (NAN, 0.0, 0.0))),
    "poles of other chains": ("shape", lambda: core.Goals(TARGETS, np.ones((2, 3)))),
    "angle is not a number": ("angle", lambda: core.Goal(TARGET, TARGET, NAN)),
    "tip is zero": ("zero", lambda: core.Goal(TARGET, tip_rotation_wxyz=np.zeros(4))),
    "targets for one chain": (
        "one goal for each chain",
        lambda: core.solve(core.Chain(JOINTS), core.Goal(JOINTS)),
    ),
    "too few goals": (
        "one goal for each chain",
        lambda: core.solve_batch(core.Chains(BATCH), core.Goals(TARGETS[:2])),
    ),
    "less than nothing": ("weights", lambda: solve_tree(weight=[1.0, -1.0])),
    "nothing at all": ("weights", lambda: solve_tree(weight=[0.0, 0.0])),
    "weights": ("shape", lambda: solve_tree(weight=[1.0])),
    "one pole of two": ("shape", lambda: solve_tree(pole_position=TIPS[0])),
    "flags": ("2 values of has_pole", lambda: solve_tree(has_pole=[True])),
    "priorities": ("2 values of priority", lambda: solve_tree(priority=(1, 2, 3))),
    "priority of one": ("2 values of priority", lambda: solve_tree(priority=1)),
    "priorities in words": ("2 values of priority", lambda: solve_tree(priority="ab")),
    "priorities in letters": ("whole numbers", lambda: solve_tree(priority=("a", "b"))),
    "a fraction": ("whole numbers", lambda: solve_tree(priority=(1.5, 1))),
    "below zero": ("whole numbers", lambda: solve_tree(priority=(-1, 1))),
    "one flag": ("2 values of has_pole", lambda: solve_tree(has_pole=True)),
    "a target for a goal": ("Goal", lambda: core.solve(core.Chain(JOINTS), TARGET)),
    "one goal in a batch": (
        "Goals",
        lambda: core.solve_batch(core.Chains(BATCH), core.Goal(TARGET)),
    ),
    "an angle in words": ("numbers", lambda: core.Goal(TARGET, TARGET, "wide")),
    "angles of other chains": ("shape", lambda: core.Goals(TARGETS, TARGETS, [1.0, 2.0])),
    "a root without a pose": (
        "near_wxyz",
        lambda: solve_tree(priority=(1, 2), near_root=np.zeros(3)),
    ),
    "a number as floor": ("Floor", lambda: solve_tree(priority=(1, 2), floor=0.0)),
    "a floor of another bone": ("index", lambda: solve_tree(priority=(1, 2), floor=floor(3))),
    "a floor before all bones": ("index", lambda: solve_tree(priority=(1, 2), floor=floor(-1))),
    "one floor for two trees": (
        "one floor for each tree",
        lambda: core.Goals(np.array([TIPS, TIPS]), priority=(1, 2), floor=floor(0)),
    ),
    "near without order": ("with priorities", lambda: solve_tree(near_wxyz=np.ones((3, 4)))),
    "near to nothing": ("zero", lambda: solve_tree(priority=(1, 2), near_wxyz=np.zeros((3, 4)))),
    "near to others": (
        "one for each bone",
        lambda: solve_tree(priority=(1, 2), near_wxyz=np.ones((2, 4))),
    ),
    "a flat floor": (
        "normal",
        lambda: core.Floor((0,), np.zeros((1, 3)), np.zeros(3), np.zeros(3)),
    ),
}
OPTIONS = {
    "unknown solver": (", ".join(core.Solver), lambda: core.SolveOptions(solver="LIMB")),
    "unknown end": ("TIP, ROOT", lambda: core.SolveOptions(lead="MIDDLE")),
    "a solver for options": (
        "SolveOptions",
        lambda: core.solve(core.Chain(JOINTS), core.Goal(TARGET), core.Solver.FABRIK),
    ),
    "a word for a number": ("number", lambda: core.SolveOptions(iterations="many")),
    "nothing for a number": ("number", lambda: core.SolveOptions(tolerance=None)),
    "a ragged list": ("number", lambda: core.SolveOptions(tolerance=[[1.0], [1.0, 2.0]])),
    "a word for a flag": ("number", lambda: core.SolveOptions(use_flip_bend="yes")),
    "two axes": ("for each chain", lambda: core.SolveOptions(tolerance=np.ones((3, 1)))),
    "two weights": ("axes", lambda: core.SolveOptions(orient_weight=np.ones(2))),
    "flips of other chains": (
        "2 values of use_flip_bend for 3 chains",
        lambda: core.solve_batch(
            core.Chains(BATCH),
            core.Goals(TARGETS),
            core.SolveOptions(use_flip_bend=np.array([True, False])),
        ),
    ),
    "tolerances for one chain": ("2 values", lambda: solve_bones(2, tolerance=[0.1, 0.2])),
    "no iterations": ("limit of iterations", lambda: core.SolveOptions(iterations=0)),
    "tolerance below zero": ("tolerance", lambda: core.SolveOptions(tolerance=-1e-9)),
    "tolerances": ("tolerance", lambda: core.SolveOptions(tolerance=np.array([1.0, NAN]))),
    "soft distance": ("soft distance", lambda: core.SolveOptions(soft_distance=-0.1)),
    "bend": ("set an angle", lambda: core.SolveOptions(max_bend=NAN)),
    "weight above one": ("orient_weight", lambda: core.SolveOptions(orient_weight=1.5)),
}
TWO = core.Solver.TWO_BONE
TURNED = core.Goal(TARGET, tip_rotation_wxyz=(1.0, 0.0, 0.0, 0.0))
MISMATCHES = {
    "two-bone, one bone": ("lengthen the chain", lambda: solve_bones(1, solver=TWO)),
    "two-bone, three bones": ("has 3 .*Newton, FABRIK or CCD", lambda: solve_bones(3, solver=TWO)),
    "two-bone and a tip": ("Rotation Bone", lambda: solve_bones(2, TURNED, solver=TWO)),
    "a tree for CCD": (
        "choose NEWTON or FABRIK",
        lambda: core.solve(TREE.tree(), core.Goal(TREE.tips), core.SolveOptions(core.Solver.CCD)),
    ),
    "a tree, dragged": (
        "choose NEWTON or FABRIK",
        lambda: core.solve(tree(), core.Goal(TIPS), core.SolveOptions(core.Solver.FOLLOW)),
    ),
    "unturned, dragged": (
        "leave unturned out",
        lambda: core.solve(
            replace(ARM.chain(), joints=replace(ARM.joints(), unturned=(1,))),
            core.Goal(TARGET),
            core.SolveOptions(core.Solver.FOLLOW),
        ),
    ),
}
BAD_INPUTS = [
    pytest.param(error, words, make, id=name)
    for error, inputs in (
        (core.InvalidChainError, CHAINS),
        (core.InvalidGoalError, GOALS),
        (core.InvalidOptionError, OPTIONS),
        (core.SolverMismatchError, MISMATCHES),
    )
    for name, (words, make) in inputs.items()
]


@pytest.mark.parametrize(("error", "words", "make"), BAD_INPUTS)
def test_bad_input_is_refused_in_one_sentence_with_advice(error, words, make):
    with pytest.raises(core.IKError) as caught:
        make()
    assert type(caught.value) is error
    assert isinstance(caught.value, ValueError)
    message = str(caught.value)
    assert re.search(words, message), message
    assert ADVICE.search(message), f"says nothing to do: {message}"
    assert message[0].isupper()
    assert message.endswith(".")
    assert "\n" not in message
    # One sentence: no full stop before the last.
    assert ". " not in message, message


def test_a_number_of_any_kind_stands_for_all_bones():
    for number in (1, 1.0, np.float32(1.0), np.array(1)):
        limited = joints(high=number, slide_high=number, mobility=number)
        assert np.array_equal(limited.high, np.ones((3, 3)))
        assert np.array_equal(limited.slide_high, np.ones(3))
        assert np.array_equal(forces(masses=number).masses, np.ones(3))


def test_unturned_bones_are_taken_from_any_collection():
    for bones in ({1, 2}, iter((1, 2)), np.array((1, 2))):
        assert set(joints(unturned=bones).unturned) == {1, 2}


def test_names_and_lists_stand_for_members_and_arrays():
    for lead in core.Lead:
        one, other = (
            solve_bones(3, solver=core.Solver.FOLLOW, lead=name) for name in (lead, str(lead))
        )
        assert np.array_equal(one.joint_positions, other.joint_positions)
    chains, goals, options = core.Chains(BATCH), core.Goals(0.5 * TARGETS), core.SolveOptions
    tolerances = [0.01, 0.02, 0.03]
    one, other = (
        core.solve_batch(chains, goals, options(core.Solver.CCD, tolerance=values))
        for values in (np.array(tolerances), tolerances)
    )
    assert np.array_equal(one.joint_positions, other.joint_positions)


def test_chains_are_taken_by_indices_in_any_form_and_by_flags():
    chains, goals = core.Chains(BATCH), core.Goals(np.arange(9).reshape(3, 3) / 9.0)
    expected = core.solve_batch(chains, goals).joint_positions
    flags = np.array([True, False, True])
    for rows in ([0, 2], flags, flags.tolist(), np.array([0, -1]), [], np.array([])):
        indices = np.arange(3)[rows] if len(rows) else np.empty(0, dtype=np.int64)
        some = core.Goals(goals.target_position[indices])
        solved = core.solve_batch(chains.take(rows), some)
        assert np.array_equal(solved.joint_positions, expected[indices])


@pytest.mark.parametrize("solver", core.Solver)
@pytest.mark.parametrize("count", [2, 20])
def test_an_empty_batch_gives_no_poses(count, solver):
    weights = core.Forces(np.ones((count, 3)), np.ones((count, 3)), np.ones((count, 3)))
    if solver is core.Solver.TWO_BONE:
        batches = [core.Chains(np.tile(JOINTS[:3], (count, 1, 1)))]
    else:
        batches = [ARM.chains(count), core.Chains(np.tile(JOINTS, (count, 1, 1)), forces=weights)]
    if solver in (core.Solver.NEWTON, core.Solver.FABRIK):
        batches.append(TREE.trees(count))
    for chains in batches:
        shape = (0,) if chains.topology is None else (0, len(TREE.tips))
        points = np.zeros((*shape, 3))
        goals = [core.Goals(points), core.Goals(points, points)]
        if chains.topology is not None:
            goals.append(core.Goals(points, priority=range(len(TREE.tips))))
        for goal in goals:
            solved = core.solve_batch(chains.take([]), goal, core.SolveOptions(solver))
            assert solved.joint_positions.shape == (0, *chains.joint_positions.shape[1:])
