"""Example of a crowd: a hundred copies that share bones, body and actions; 200 live chains."""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Vector

from examples.parts import bodies, human, rigs, studio
from examples.parts.rigs import Example

FRAMES, ROWS, COLUMNS = 96, 10, 10
BEAT = 48  # frames of one action; each person starts at a random one
SPACING = Vector((1.05, 1.25))
SEED = 7
COLOURS = ("chain", "second", "target", "green", "light")


def build() -> bpy.types.Object:
    first = human.add_person("Person")
    for side, sign in human.SIDES.items():
        chain = human.add_arm(first, side, "EMPTY")
        chain.use_limits = False
        for control in (chain.target, chain.pole_target):
            control.parent = first
            rigs.move_to_collection(control, "Controls")
        rigs.key_object(chain.target, BEAT, lambda share, s=sign: _hand_matrix(share, s), step=4)
    human.add_body(first, {}, round_=8)
    # The body is selectable, so that a copy of a person and its children includes it.
    _body(first).hide_select = False
    random = np.random.default_rng(SEED)
    people = [first, *(_copy(first, number) for number in range(1, ROWS * COLUMNS))]
    for number, rig in enumerate(people):
        row, column = divmod(number, COLUMNS)
        across, turn = random.uniform(-0.12, 0.12, 2), random.uniform(-0.3, 0.3)
        position = Vector(((column - 0.5 * (COLUMNS - 1)) * SPACING.x, row * SPACING.y))
        rig.location.xy, rig.rotation_euler.z = position + Vector(across), turn
        rig.scale = [random.uniform(0.93, 1.07)] * 3
        start = -int(random.integers(0, BEAT))
        for chain in rig.chain_ik.chains:
            _repeat_action(chain.target, start)
        # Give the copy another colour; the mesh stays shared. The other slot has the eyes.
        slot = _body(rig).material_slots[0]
        slot.link, slot.material = "OBJECT", bodies.material(COLOURS[number * 7 % len(COLOURS)])
    studio.add_floor(60.0)
    return first


def _hand_matrix(share: float, sign: float) -> Matrix:
    """Return the matrix of a hand in the space of its person; the hands go up in turn."""
    turn = math.tau * share + (0.0 if sign > 0.0 else 0.7 * math.pi)
    position = (sign * (0.34 + 0.08 * math.cos(turn)), -0.14, 1.64 + 0.16 * math.sin(turn))
    return rigs.make_matrix(position, (sign * 0.3 * math.cos(turn), -0.25, 1.0), (0.0, 1.0, 0.0))


def _body(rig: bpy.types.Object) -> bpy.types.Object:
    return next(child for child in rig.children if child.type == "MESH")


def _copy(first: bpy.types.Object, number: int) -> bpy.types.Object:
    """Return a copy of a person with the same bones and mesh, and with copied controls."""
    rig, body = first.copy(), _body(first).copy()
    rig.name, body.name = f"Person {number:03d}", f"Person {number:03d} Body"
    for item in (rig, body):
        rigs.move_to_collection(item, "Person")
    body.parent = body.modifiers[0].object = rig
    for chain in rig.chain_ik.chains:
        chain.target, chain.pole_target = chain.target.copy(), chain.pole_target.copy()
        for control in (chain.target, chain.pole_target):
            control.parent = rig
            rigs.move_to_collection(control, "Controls")
    return rig


def _repeat_action(control: bpy.types.Object, start: int) -> None:
    """Make a control repeat its action from a start before the first frame."""
    data = control.animation_data
    action, data.action = data.action, None
    strip = data.nla_tracks.new().strips.new("Cheer", start, action)
    strip.action_frame_start, strip.action_frame_end = 1, 1 + BEAT
    strip.repeat = 2 + FRAMES / BEAT


LOOK = (0.2, 3.2, 0.9), 15.5, (74.0, 14.0)
EXAMPLE = Example("crowd", build, "hand Target.L", FRAMES, 40, LOOK)
