"""Pull the left hand of one person with several solvers, feet pinned, and print a table.

    PYTHONPATH=.:scripts python -m benchmarks.whole_body.beside 200              in the checkout

The core needs NumPy alone. Who else is in the table depends on what this Python (3.13) can import:
``pip install mink mujoco daqp`` adds mink, ``pip install bpy==5.2.*`` adds Blender's iTaSC.

All start from rest and get the same bones, targets and ranges. The core bounds two angles of a
joint by an ellipse. MuJoCo has three hinges in its place and Blender three angles, each with a
range of its own, so these two may turn a little farther.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np

from blender_ik_addon.core import Goal, JointKind, solve
from blender_ik_addon.core.algebra.rotation import quaternion_from_matrix, rotate
from common.tables import make_table
from tests.core.bodies import FEET, PARTS, SOLES, Array, Person, make_person
from tests.core.solving.pulled_bodies import NEAR, UPRIGHT, past_ranges, random_way

PULLS = 200
# A hand has arrived within so many metres.
ARRIVED = 1e-3
SIDES = (*SOLES, ("hand.L", PARTS["hand.L"]))
# mink: steps of one pull, and the damping that most code with it has, and one that lets it converge
# out of reach: with 1e-8 feet slip by 7 to 28 mm there.
MOST_STEPS, LM_DAMPING, DAMPING = 200, 1.0, 1e-2
# As many steps, and as precise, as Blender allows.
ITASC_STEPS, ITASC_PRECISION = 1000, 1e-4
HEAD = ("solver", "reached", "slip, median (mm)", "most", "turned (deg)", "past range", "CPU ms")
# A range as wide as this is none.
UNBOUNDED = np.radians(177.0)


class Core:
    """This project's core: levels, the feet above the hand."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def pull(self, target: Array) -> None:
        """Pull the hand to a place."""
        places = np.vstack((self.person.ends[:2], target))
        goal = Goal(places, tip_rotation_wxyz=UPRIGHT, priority=(0, 0, 2), has_tip_rotation=FEET)
        self.solution = solve(self.person.chain, goal, NEAR)

    def pose(self) -> tuple[Array, Array]:
        """Return soles and hand, (3, 3), and how bones have turned, (n, 3, 3)."""
        parents, frames = self.person.chain.topology.parents, [np.eye(3)]
        for bone, local in enumerate(self.solution.local_rotations_wxyz[1:], start=1):
            frames.append(frames[parents[bone]] @ rotate(local, np.eye(3)).T)
        return self.solution.joint_positions[-3:], np.array(frames)


class Mink:
    """mink: one quadratic program a step; feet are tasks that weigh more, or equations."""

    def __init__(self, person: Person, feet_cost: float) -> None:
        """Build the model; where feet cost 0 they are equations."""
        import mink
        import mujoco

        self.person = person
        model = mujoco.MjModel.from_xml_string(_mujoco_xml(person))
        self.configuration = mink.Configuration(model)
        self.rest = self.configuration.q.copy()
        self.place, self.no_solution = mink.SE3.from_translation, mink.NoSolutionFound
        damped, cost = {"lm_damping": LM_DAMPING}, feet_cost or 1.0
        feet = [mink.FrameTask(name, "site", cost, cost, **damped) for name, _ in SOLES]
        for task, place in zip(feet, person.ends, strict=False):
            task.set_target(self.place(place))
        self.hand = mink.FrameTask("hand.L", "site", 1.0, 0.0, **damped)
        tasks, self.equations = ([*feet, self.hand], None) if feet_cost else ([self.hand], feet)
        self.solve = partial(mink.solve_ik, self.configuration, tasks, 1.0, "daqp", DAMPING)

    def pull(self, target: Array) -> None:
        self.configuration.update(self.rest)
        self.hand.set_target(self.place(target))
        for _ in range(MOST_STEPS):
            try:
                speed = self.solve(constraints=self.equations)
            except self.no_solution:
                break
            self.configuration.integrate_inplace(speed, 1.0)
            if np.abs(speed).max() < 1e-7:
                break

    def pose(self) -> tuple[Array, Array]:
        data = self.configuration.data
        frames = [data.body(name).xmat.reshape(3, 3) for name in self.person.names]
        return np.array([data.site(name).xpos for name, _ in SIDES]), np.array(frames)


def _mujoco_xml(person: Person) -> str:
    joints, parents = person.chain.joints, person.chain.topology.parents
    sites = dict(SIDES)

    def text(numbers: Array) -> str:
        return " ".join(map(str, numbers))

    def body(bone: int) -> str:
        name, above = person.names[bone], parents[bone]
        place = person.heads[bone] - (person.heads[above] if bone else 0.0)
        low, high = joints.low[bone], joints.high[bone]
        hinges = [
            f"<joint type='hinge' axis='{axis}' range='{low[index]} {high[index]}'/>"
            for index, axis in ((2, "0 0 1"), (0, "1 0 0"), (1, "0 1 0"))
        ]
        ball = "<joint type='ball'/>" if high.min() > UNBOUNDED else "".join(hinges)
        inside = ball if bone else "<freejoint/>"
        if name in sites:
            inside += f"<site name='{name}' pos='{text(sites[name])}'/>"
        inside += "<inertial pos='0 0 0' mass='1' diaginertia='0.1 0.1 0.1'/>"
        below = "".join(body(child) for child, at in enumerate(parents) if at == bone and child)
        return f"<body name='{name}' pos='{text(place)}'>{inside}{below}</body>"

    return f"<mujoco><compiler angle='radian'/><worldbody>{body(0)}</worldbody></mujoco>"


class Itasc:
    """Blender's iTaSC: an armature of the same bones, each along its way to the next."""

    def __init__(self, person: Person, hips_turn: bool, hand_weight: float) -> None:
        """Build the armature; its root bone turns or does nothing, it never moves."""
        import bpy

        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.bpy, self.person, self.names = bpy, person, person.names
        bpy.ops.object.armature_add(enter_editmode=True)
        self.rig = bpy.context.object
        edit_bones = self.rig.data.edit_bones
        edit_bones.remove(edit_bones[0])
        for bone in range(1, len(person.names)):
            self._add_bone(edit_bones, bone)
        bpy.ops.object.mode_set(mode="OBJECT")
        self._set_ranges(hips_turn)
        self.rig.pose.ik_solver = "ITASC"
        settings = self.rig.pose.ik_param
        settings.iterations, settings.precision = ITASC_STEPS, ITASC_PRECISION
        self.targets = [self._add_target(name, hand_weight) for name, _ in SIDES]

    def _add_bone(self, edit_bones: object, bone: int) -> None:
        names, heads, parents = self.names, self.person.heads, self.person.chain.topology.parents
        new = edit_bones.new(names[bone])
        below = [heads[child] for child, above in enumerate(parents) if above == bone]
        new.head = heads[bone]
        new.tail = below[0] if below else heads[bone] + {**PARTS, **dict(SOLES)}[names[bone]]
        new.align_roll((0.0, 0.0, 1.0))
        if bone > 1:
            new.parent = edit_bones[names[parents[bone]]]

    def _set_ranges(self, hips_turn: bool) -> None:
        joints = self.person.chain.joints
        for index, name in enumerate(self.names[1:], start=1):
            bone = self.rig.pose.bones[name]
            axes = np.array(bone.bone.matrix_local.to_3x3()).T
            ends = axes @ joints.low[index], axes @ joints.high[index]
            for axis, low, high in zip("xyz", np.minimum(*ends), np.maximum(*ends)):
                setattr(bone, f"use_ik_limit_{axis}", bool(high < UNBOUNDED))
                setattr(bone, f"ik_min_{axis}", low)
                setattr(bone, f"ik_max_{axis}", high)
                setattr(bone, f"lock_ik_{axis}", index == 1 and not hips_turn)

    def _add_target(self, name: str, hand_weight: float) -> object:
        bone = self.rig.pose.bones[name]
        target = self.bpy.data.objects.new(name, None)
        self.bpy.context.collection.objects.link(target)
        target.matrix_world, target.location = bone.matrix, bone.tail
        constraint = bone.constraints.new("IK")
        constraint.target, constraint.chain_count = target, 0
        constraint.use_rotation = name.startswith("foot")
        constraint.weight = 1.0 if constraint.use_rotation else hand_weight
        return target

    def pull(self, target: Array) -> None:
        self.targets[-1].location = target
        self.bpy.context.view_layer.update()

    def pose(self) -> tuple[Array, Array]:
        graph = self.bpy.context.evaluated_depsgraph_get()
        bones = [self.rig.evaluated_get(graph).pose.bones[name] for name in self.names[1:]]
        rests = [each.bone.matrix_local.to_3x3().inverted() for each in bones]
        turns = [bone.matrix.to_3x3() @ rest for bone, rest in zip(bones, rests)]
        tails = {each.name: each.tail for each in bones}
        return np.array([tails[name] for name, _ in SIDES]), np.array([np.eye(3), *turns])


def measure(name: str, puller: Core | Mink | Itasc, person: Person, count: int) -> tuple[str, ...]:
    """Return the row of a solver."""
    topology, rows = person.chain.topology, []
    for seed in range(count):
        target = person.ends[2] + random_way(seed)
        start = time.process_time()
        puller.pull(target)
        seconds = time.process_time() - start
        places, frames = puller.pose()
        gap = np.linalg.norm(places[2] - target)
        slip = np.linalg.norm(places[:2] - person.ends[:2], axis=1).max()
        turned = _angles(frames[list(topology.effector_bones[:2])]).max()
        local = np.swapaxes(frames[list(topology.parents[1:])], 1, 2) @ frames[1:]
        past = past_ranges(person, np.vstack((UPRIGHT[0], quaternion_from_matrix(local))))
        rows.append((gap, slip, turned, past, seconds))
    gaps, slips, turned, past, seconds = np.array(rows).T
    return (
        name,
        f"{np.mean(gaps < ARRIVED):.1%}",
        f"{np.median(slips) * 1e3:.0e}",
        f"{slips.max() * 1e3:.2g}",
        f"{np.degrees(turned.max()):.2g}",
        f"{np.degrees(past.max()):.1f}",
        f"{np.median(seconds) * 1e3:.0f}",
    )


def _angles(turns: Array) -> Array:
    """Return the angles of rotation matrices (k, 3, 3)."""
    sines = (turns - np.swapaxes(turns, 1, 2))[:, (2, 0, 1), (1, 2, 0)]
    return np.arctan2(np.linalg.norm(sines, axis=1), np.trace(turns, axis1=1, axis2=2) - 1.0)


def list_pullers() -> Iterator[tuple[str, Core | Mink | Itasc, Person]]:
    """Yield all solvers that can be had here, and their person."""
    floating, in_place = make_person(), make_person(floats=False)
    joints = in_place.chain.joints
    stiff = replace(joints, kinds=(JointKind.FIXED, JointKind.FIXED, *joints.kinds[2:]))
    fixed = replace(in_place, chain=replace(in_place.chain, joints=stiff))
    yield "hips free: core", Core(floating), floating
    if find_spec("mink"):
        for cost in (10.0, 100.0, 1000.0):
            yield f"mink, feet cost {cost:g} times the hand", Mink(floating, cost), floating
        yield "mink, feet as equations", Mink(floating, 0.0), floating
    yield "hips turn in place: core", Core(in_place), in_place
    if find_spec("bpy"):
        for weight in (1.0, 0.1, 0.01):
            yield f"iTaSC, the hand weighs {weight:g}", Itasc(in_place, True, weight), in_place
    yield "hips fixed: core", Core(fixed), fixed
    if find_spec("bpy"):
        yield "iTaSC", Itasc(fixed, False, 1.0), fixed


def main(arguments: list[str]) -> None:
    """Print a row for each solver, after so many pulls."""
    count = int(arguments[0]) if arguments else PULLS
    print(make_table(HEAD, [measure(*each, count) for each in list_pullers()]))


if __name__ == "__main__":
    main(sys.argv[1:])
