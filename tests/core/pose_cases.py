"""Chains of every kind with every setting, and targets for them: what saved poses are of.

A case has 20 chains: targets within reach, out of reach, too near, and where limits keep them from.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import (
    Chain,
    Chains,
    Goals,
    Joints,
    Lead,
    SolveOptions,
    Solver,
    StepMode,
    Topology,
)
from tests.core.chains import POSES, random_direction, start_joints, uneven_lengths, unit
from tests.core.equilibrium.energies import make_forces, repeated
from tests.core.limited_rigs import FREE_AXES, RIGS, K, Rig, at_rest, make_rig, poles_beside
from tests.core.tree_rigs import LIMITED, TREES, TreeRig

Array = npt.NDArray[np.float64]
COUNT = 20
TOLERANCE = 1e-6
TARGET_SOLVERS = (Solver.NEWTON, Solver.FABRIK, Solver.CCD)
SLIDING = {"slide_low": -0.1, "slide_high": 0.2}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "pole": {"poles": True},
    "pole turned": {"poles": True, "pole_angle": 0.7},
    "flip": {"use_flip_bend": True},
    "tip turn": {"tips": True},
    "tip turn and pole": {"tips": True, "poles": True},
    "tip turn, half": {"tips": True, "orient_weight": 0.5},
    "soft": {"soft_distance": 0.2},
    "bare": {"use_finish": False, "iterations": 12},
    "stays": {"keeps_start": True},
}
# Settings that rule the goal, and those of options that are shares of the length.
GOAL_SETTINGS = ("poles", "tips", "pole_angle")
SETTING_RIGS = ("arm", "tail", "spider_leg", "one_sided", "offset_bones", "fixed_between")


@dataclass(frozen=True)
class Case:
    """What is solved in one call, and the parents of the bones."""

    name: str
    chains: Chains
    goals: Goals
    options: SolveOptions


def all_cases(count: int = COUNT) -> Iterator[Case]:
    """Return all cases, each with so many chains."""
    for make in (_free, _limited, _kinds, _sliding, _trees, _forces, _led):
        yield from make(count)


def make_rng(name: str) -> np.random.Generator:
    """Return randomness that is the same for a name, whatever other cases there are."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def random_turns(rng: np.random.Generator, largest: float, *shape: int) -> Array:
    """Return rotations of up to an angle, wxyz, shape (..., 4)."""
    half = 0.5 * largest * rng.random((*shape, 1))
    axis = unit(rng.normal(size=(*shape, 3)))
    return np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1)


def make_case(
    name: str, chains: Chains, targets: Array, solver: Solver, settings: dict[str, Any]
) -> Case:
    """Return a case with poles, tip turns, and options."""
    rng, length = make_rng(f"{name}: goals"), float(np.mean(chains.max_reach))
    own = {key: each for key, each in settings.items() if key not in GOAL_SETTINGS}
    if "soft_distance" in own:
        own["soft_distance"] *= length
    poles = tips = None
    if settings.get("poles"):
        off = targets - chains.joint_positions[:, :1] if targets.ndim == 3 else targets
        poles = targets - off + poles_beside(off, length, rng)
    if settings.get("tips"):
        tips = random_turns(rng, 0.6, *targets.shape[:-1])
    goals = Goals(targets, poles, settings.get("pole_angle", 0.0), tips)
    return Case(name, chains, goals, SolveOptions(solver, tolerance=TOLERANCE * length, **own))


def spread(count: int, length: float, rng: np.random.Generator) -> Array:
    """Return ways from a root: within reach, a fifth out of it, and a fifth near the root."""
    shares = rng.uniform(0.1, 0.98, count)
    shares[::5], shares[1::5] = 1.0 + 0.5 * rng.random(len(shares[::5])), 0.03 * rng.random()
    shares[3::10] = 1.0
    return shares[:, None] * length * unit(rng.normal(size=(count, 3)))


def _free(count: int) -> Iterator[Case]:
    for bones in (1, 2, 3, 6, 12):
        for setting, values in SETTINGS.items():
            for solver in (Solver.TWO_BONE, *TARGET_SOLVERS):
                is_two = bones == 2 and not values.get("tips")
                if solver is Solver.TWO_BONE and not is_two:
                    continue
                # No joint bends in a single bone, and free chains know no staying.
                if setting != "plain" and (bones == 1 or setting == "stays"):
                    continue
                name = f"free/{bones} bones/{setting}/{solver}"
                rng, points, sides = make_rng(name), [], []
                for row in range(count):
                    lengths = uneven_lengths(bones, 3.0, rng)
                    points.append(start_joints(POSES[row % len(POSES)], lengths, rng))
                    points[-1] /= lengths.sum()
                    sides.append(random_direction(rng))
                chains = Chains(np.array(points), np.array(sides))
                targets = chains.joint_positions[:, 0] + spread(count, 1.0, rng)
                yield make_case(name, chains, targets, solver, values)


def limited_targets(rig: Rig, count: int, rng: np.random.Generator) -> Array:
    """Return targets of poses within 80 % of the ranges, and every other one anywhere."""
    targets = spread(count, rig.length, rng)
    for row in range(0, count, 2):
        targets[row] = rig.points(rig.some_rotations(rng))[-1]
    return targets


def _limited(count: int) -> Iterator[Case]:
    for rig_name, make in RIGS.items():
        rig = make()
        for setting, values in SETTINGS.items():
            if setting != "plain" and rig_name not in SETTING_RIGS:
                continue
            for solver in TARGET_SOLVERS:
                yield limited_case(f"limited/{rig_name}", rig, setting, values, solver, count)
        if rig_name in SETTING_RIGS:
            rng = make_rng(rig_name)
            stiff = rig.with_mobility(rng.choice([1.0, 0.5, 0.01], rig.mobility.shape))
            for solver in TARGET_SOLVERS:
                yield limited_case(f"stiff/{rig_name}", stiff, "plain", {}, solver, count)


def limited_case(
    group: str, rig: Rig, setting: str, values: dict[str, Any], solver: Solver, count: int
) -> Case:
    """Return a case of a limited rig: half of the chains start at rest, half anywhere."""
    name = f"{group}/{setting}/{solver}"
    rng = make_rng(name)
    starts = np.repeat(at_rest(len(rig.kinds))[None], count, axis=0)
    for row in range(1, count, 2):
        starts[row] = rig.some_rotations(rng)
    targets = limited_targets(rig, count, rng)
    return make_case(name, rig.started(starts), targets, solver, values)


def _kinds(count: int) -> Iterator[Case]:
    ranges = ((-60, 70), (-50, 40), (-45, 80))
    for kind in FREE_AXES:
        free = {"HINGE": 1, "ELBOW": 2, "SWING": 2, "FIXED": 0}.get(kind.name.split("_")[0], 3)
        ball = (K.BALL, ranges)
        rig = make_rig([ball, (kind, ranges[:free]), ball], astray=0.2)
        for solver in TARGET_SOLVERS:
            yield limited_case(f"kind/{kind.name}", rig, "plain", {}, solver, count)


def with_joints(chains: Chains, **others: Any) -> Chains:
    """Return chains whose joints differ; numbers become arrays."""
    joints = chains.joints
    for name, each in others.items():
        if isinstance(each, float):
            others[name] = np.full(getattr(joints, name).shape, each)
    own = {field.name: getattr(joints, field.name) for field in fields(Joints)}
    return Chains(chains.joint_positions, joints=Joints(**{**own, **others}))


def _sliding(count: int) -> Iterator[Case]:
    endless = np.full((3, 3), np.inf)
    arm = RIGS["arm"]()
    rigs = {"arm": arm, "free": replace(arm, kinds=(K.BALL,) * 3, low=-endless, high=endless)}
    for rig_name, rig in rigs.items():
        for setting in ("plain", "pole", "tip turn", "stays"):
            for solver in TARGET_SOLVERS:
                case = limited_case(
                    f"slides/{rig_name}", rig, setting, SETTINGS[setting], solver, count
                )
                yield replace(case, chains=with_joints(case.chains, **SLIDING))
    for setting in ("plain", "pole"):
        case = limited_case("unturned", arm, setting, SETTINGS[setting], Solver.NEWTON, count)
        yield replace(case, chains=with_joints(case.chains, unturned=(1,)))


def tree_case(
    name: str, rig: TreeRig, solver: Solver, settings: dict[str, Any], count: int, *, weights: bool
) -> Case:
    """Return a case of a tree: some targets are those of a pose, others lie beside them."""
    rng, targets = make_rng(name), []
    for row in range(count):
        off = rng.uniform(-0.5, 0.5, rig.tips.shape) * rig.length if row % 4 == 3 else 0.0
        targets.append(rig.targets(rng) + off)
    trees = rig.trees(count)
    case = make_case(name, trees, np.array(targets), solver, settings)
    tolerance = TOLERANCE * rig.length
    given = rng.uniform(0.1, 3.0, (count, len(rig.tips))) if weights else None
    goals = replace(case.goals, weight=given)
    return replace(case, goals=goals, options=replace(case.options, tolerance=tolerance))


def _trees(count: int) -> Iterator[Case]:
    for tree_name, make in TREES.items():
        limited = {"limited": make()} if tree_name in LIMITED else {}
        for kind, rig in {"free": make().freed(), **limited}.items():
            for solver in (Solver.NEWTON, Solver.FABRIK):
                name = f"tree/{tree_name}, {kind}/plain/{solver}"
                yield tree_case(name, rig, solver, {}, count, weights=False)
                name = f"tree/{tree_name}, {kind}/weights/{solver}"
                yield tree_case(name, rig, solver, {}, count, weights=True)
            for setting in ("pole", "tip turn", "stays"):
                name = f"tree/{tree_name}, {kind}/{setting}/NEWTON"
                values = SETTINGS[setting]
                yield tree_case(name, rig, Solver.NEWTON, values, count, weights=False)


def _forces(count: int) -> Iterator[Case]:
    down = np.array([0.0, 0.0, -1.0])
    for rig_name in ("tail", "arm", "twenty"):
        rig = RIGS[rig_name]()
        bones = len(rig.kinds)
        ones, masses = np.ones(bones), np.full(bones, 1.0 / bones)
        kinds = {
            "springs": make_forces(ones),
            "masses": make_forces(np.linspace(2.0, 0.2, bones), masses, down),
            "slack": make_forces(ones, masses, down, comfort=0.15),
            "optimum": make_forces(
                ones, None, None, 0.05, random_turns(make_rng(rig_name), 0.3, bones)
            ),
            "classic": make_forces(ones, masses, down, mode=StepMode.CLASSIC),
            "weight": make_forces(0.0 * ones, masses, down),
        }
        for kind, forces in kinds.items():
            if rig_name == "twenty" and kind not in ("springs", "slack"):
                continue
            for is_limited in (True, False):
                group = f"force/{rig_name}, {'limited' if is_limited else 'free'}/{kind}"
                case = limited_case(group, rig, "plain", {}, Solver.FORCE, count)
                chains = case.chains
                joints = chains.joints if is_limited else None
                acting = repeated(forces, count)
                yield replace(case, chains=Chains(chains.joint_positions, None, joints, acting))


def _led(count: int) -> Iterator[Case]:
    for lead in Lead:
        for use_anchor in (False, True):
            given = {"lead": lead, "use_anchor": use_anchor}
            end = f"{lead}{', anchored' if use_anchor else ''}"
            for rig_name in ("arm", "tail", "ten_hinges", "mixed_lengths", "offset_bones"):
                rig = RIGS[rig_name]()
                case = limited_case(f"led/{rig_name}", rig, end, given, Solver.FOLLOW, count)
                yield case
                free = Chains(case.chains.joint_positions)
                yield replace(case, name=f"{case.name}, free", chains=free)
            bent = replace(case.options, max_bend=0.4)
            yield replace(case, name=f"{case.name}, max bend", chains=free, options=bent)


def parents_of(chain: Chain) -> tuple[int, ...]:
    """Return the parents of the bones of chains or trees."""
    topology: Topology | None = chain.topology
    return tuple(range(-1, chain.bone_count - 1)) if topology is None else topology.parents
