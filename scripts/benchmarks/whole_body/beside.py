"""Pull the left hand of one person with several solvers, feet pinned, and print a table.

    PYTHONPATH=.:scripts python -m benchmarks.whole_body.beside 200              in the checkout

The core needs only NumPy. The other solvers depend on the packages of this Python (3.13):
``pip install mink mujoco daqp`` adds mink, ``pip install bpy==5.2.*`` adds Blender's iTaSC.

All solvers start from rest with the same bones, targets and ranges. The core bounds two angles of a
joint by an ellipse. MuJoCo has three hinges instead and Blender three angles, each with a separate
range, so these two may turn a little farther.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Callable

import numpy as np

from blender_ik_addon.core import JointKind, solve
from blender_ik_addon.core.algebra.rotation import matrix_from_quaternion, quaternion_from_matrix
from common.tables import make_table
from tests.core.bodies import PARTS, SOLES, Array, Person, make_person
from tests.core.solving.pulled_bodies import NEAR, UPRIGHT, pull, random_offset, range_violation

# Distance in metres within which the hand counts as arrived.
ARRIVAL_DISTANCE = 1e-3
SIDES = {**dict(SOLES), "hand.L": PARTS["hand.L"]}
# mink: steps of one pull; the damping of tasks in most code that uses it; the damping with which it
# converges out of reach (with 1e-8 feet slip by 7 to 28 mm there).
MINK_STEPS, LM_DAMPING, DAMPING = 200, 1.0, 1e-2
# The most steps and the best precision that Blender allows.
ITASC_STEPS, ITASC_PRECISION = 1000, 1e-4
HEAD = ("solver", "reached", "slip, median (mm)", "most", "turned (deg)", "past range", "CPU ms")
# Angle, radians, from which a range does not limit a joint.
UNBOUNDED = np.radians(177.0)
Puller = tuple[Callable[[Array], Any], Callable[[Any], tuple[Array, Array]]]
"""Functions that pull the hand and read the pose: soles and hand (3, 3), matrices (n, 3, 3)."""


def use_core(person: Person) -> Puller:
    """Return this project's core: goals with levels, the feet before the hand."""

    def pose(solution: Any) -> tuple[Array, Array]:
        frames = [np.eye(3)]
        for local, parent in zip(
            solution.local_rotations_wxyz[1:], person.chain.topology.parents[1:]
        ):
            frames.append(frames[parent] @ matrix_from_quaternion(local))
        return solution.joint_positions[-3:], np.array(frames)

    return lambda way: solve(person.chain, pull(person, way), NEAR), pose


def use_mink(person: Person, feet_cost: float) -> Puller:
    """Return mink: a quadratic program per step, with the feet as heavier tasks or equations."""
    import mink
    import mujoco

    configuration = mink.Configuration(mujoco.MjModel.from_xml_string(_mujoco_xml(person)))
    rest, placement = configuration.q.copy(), mink.SE3.from_translation
    cost = feet_cost or 1.0
    *feet, hand = (
        mink.FrameTask(name, "site", *costs, lm_damping=LM_DAMPING)
        for name, costs in zip(SIDES, ((cost, cost), (cost, cost), (1.0, 0.0)))
    )
    for task, end in zip(feet, person.ends):
        task.set_target(placement(end))
    tasks, equations = ([*feet, hand], None) if feet_cost else ([hand], feet)

    def pull_hand(way: Array) -> None:
        configuration.update(rest)
        hand.set_target(placement(person.ends[2] + way))
        for _ in range(MINK_STEPS):
            try:
                speed = mink.solve_ik(
                    configuration, tasks, 1.0, "daqp", DAMPING, constraints=equations
                )
            except mink.NoSolutionFound:
                break
            configuration.integrate_inplace(speed, 1.0)
            if np.abs(speed).max() < 1e-7:
                break

    def pose(_: None) -> tuple[Array, Array]:
        data = configuration.data
        frames = [data.body(name).xmat.reshape(3, 3) for name in person.names]
        return np.array([data.site(name).xpos for name in SIDES]), np.array(frames)

    return pull_hand, pose


def _mujoco_xml(person: Person) -> str:
    joints, parents = person.chain.joints, person.chain.topology.parents

    def body(bone: int) -> str:
        name, place = person.names[bone], person.heads[bone]
        low, high = joints.low[bone], joints.high[bone]
        inside = "<inertial pos='0 0 0' mass='1' diaginertia='0.1 0.1 0.1'/>"
        if bone == 0:
            inside += "<freejoint/>"
        elif high.min() > UNBOUNDED:
            inside += "<joint type='ball'/>"
        else:
            for index, axis in ((2, "0 0 1"), (0, "1 0 0"), (1, "0 1 0")):
                ends = f"{low[index]} {high[index]}"
                inside += f"<joint type='hinge' axis='{axis}' range='{ends}'/>"
        if name in SIDES:
            inside += f"<site name='{name}' pos='{' '.join(map(str, SIDES[name]))}'/>"
        if bone:
            place = place - person.heads[parents[bone]]
        below = "".join(body(child) for child, at in enumerate(parents) if at == bone and child)
        return f"<body name='{name}' pos='{' '.join(map(str, place))}'>{inside}{below}</body>"

    return f"<mujoco><compiler angle='radian'/><worldbody>{body(0)}</worldbody></mujoco>"


def use_itasc(person: Person, hand_weight: float, *, hips_turn: bool = True) -> Puller:
    """Return iTaSC: an armature of the same bones, each pointing to the next.

    Its root bone turns or is locked; it never moves.
    """
    import bpy

    from examples.parts.rigs import Bone, add_empty, add_rig

    names, heads, parents = person.names, person.heads, person.chain.topology.parents
    bpy.ops.wm.read_factory_settings(use_empty=True)
    table = {}
    for bone in range(1, len(names)):
        below = [heads[child] for child, parent in enumerate(parents) if parent == bone]
        way = {**PARTS, **SIDES}.get(names[bone], (0.0, 0.0, 0.0))
        parent = names[parents[bone]] if bone > 1 else ""
        table[names[bone]] = Bone(heads[bone], below[0] if below else heads[bone] + way, parent)
    rig = add_rig("Person", table)
    for number, name in enumerate(table, start=1):
        bone, joints = rig.pose.bones[name], person.chain.joints
        axes = np.array(bone.bone.matrix_local.to_3x3()).T
        ends = axes @ joints.low[number], axes @ joints.high[number]
        for axis, low, high in zip("xyz", np.minimum(*ends), np.maximum(*ends)):
            setattr(bone, f"use_ik_limit_{axis}", bool(high < UNBOUNDED))
            setattr(bone, f"ik_min_{axis}", low)
            setattr(bone, f"ik_max_{axis}", high)
            setattr(bone, f"lock_ik_{axis}", number == 1 and not hips_turn)
    rig.pose.ik_solver = "ITASC"
    settings = rig.pose.ik_param
    settings.iterations, settings.precision = ITASC_STEPS, ITASC_PRECISION
    for name in SIDES:
        bone, target = rig.pose.bones[name], add_empty(name, (0.0, 0.0, 0.0), 1.0)
        target.matrix_world, target.location = bone.matrix, bone.tail
        constraint = bone.constraints.new("IK")
        constraint.target, constraint.chain_count = target, 0
        constraint.use_rotation = name.startswith("foot")
        constraint.weight = 1.0 if constraint.use_rotation else hand_weight

    def pull_hand(way: Array) -> None:
        target.location = person.ends[2] + way
        bpy.context.view_layer.update()

    def pose(_: None) -> tuple[Array, Array]:
        bones = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        turns = [
            bones[name].matrix.to_3x3() @ bones[name].bone.matrix_local.to_3x3().inverted()
            for name in table
        ]
        return np.array([bones[name].tail for name in SIDES]), np.array([np.eye(3), *turns])

    return pull_hand, pose


def measure(name: str, puller: Puller, person: Person, count: int) -> tuple[str, ...]:
    """Return the row of a solver in the table."""
    topology, rows = person.chain.topology, []
    pull_hand, pose = puller
    for seed in range(count):
        way, start = random_offset(seed), time.process_time()
        result = pull_hand(way)
        seconds = time.process_time() - start
        places, frames = pose(result)
        gap = np.linalg.norm(places[2] - person.ends[2] - way)
        slip = np.linalg.norm(places[:2] - person.ends[:2], axis=1).max()
        feet = quaternion_from_matrix(frames[list(topology.effector_bones[:2])])
        turned = 2.0 * np.arctan2(np.linalg.norm(feet[:, 1:], axis=1), np.abs(feet[:, 0])).max()
        local = np.swapaxes(frames[list(topology.parents[1:])], 1, 2) @ frames[1:]
        excess = range_violation(person, np.vstack((UPRIGHT[0], quaternion_from_matrix(local))))
        rows.append((gap, slip, turned, excess, seconds))
    gaps, slips, turned, excess, seconds = np.array(rows).T
    return (
        name,
        f"{np.mean(gaps < ARRIVAL_DISTANCE):.1%}",
        f"{np.median(slips) * 1e3:.0e}",
        f"{slips.max() * 1e3:.2g}",
        f"{np.degrees(turned.max()):.2g}",
        f"{np.degrees(excess.max()):.1f}",
        f"{np.median(seconds) * 1e3:.0f}",
    )


def list_pullers() -> Iterator[tuple[str, Puller, Person]]:
    """Yield name, functions and person of each solver that this Python can import."""
    floating, in_place = make_person(), make_person(floats=False)
    joints = in_place.chain.joints
    stiff = replace(joints, kinds=(JointKind.FIXED, JointKind.FIXED, *joints.kinds[2:]))
    fixed = replace(in_place, chain=replace(in_place.chain, joints=stiff))
    yield "hips free: core", use_core(floating), floating
    for cost in (10.0, 100.0, 1000.0, 0.0) if find_spec("mink") else ():
        text = f"feet cost {cost:g} times the hand" if cost else "feet as equations"
        yield f"mink, {text}", use_mink(floating, cost), floating
    yield "hips turn in place: core", use_core(in_place), in_place
    for weight in (1.0, 0.1, 0.01) if find_spec("bpy") else ():
        yield f"iTaSC, the hand weighs {weight:g}", use_itasc(in_place, weight), in_place
    yield "hips fixed: core", use_core(fixed), fixed
    if find_spec("bpy"):
        yield "iTaSC", use_itasc(fixed, 1.0, hips_turn=False), fixed


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(make_table(HEAD, [measure(*entry, count) for entry in list_pullers()]))
