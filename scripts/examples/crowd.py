"""A crowd of a hundred: copies that share bones, body and actions, 200 chains live."""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Vector

from examples.example import Example
from examples.parts import bodies, human, rigs, studio

FRAMES, ROWS, COLUMNS = 96, 10, 10
BEAT = 48  # frames of one action; each person begins somewhere in it
APART = Vector((1.05, 1.25))
SEED = 7

NOTE = """CROWD OF 100

Press Space: a hundred people cheer. Each has two chains, the arms: 200 in all, solved live on \
every frame.

LOOK AT
Playback speed, in the corner of the 3D view. All copies share one armature, one mesh and one \
action a hand; only their place, their time and their colour differ. Chains that are alike are \
solved together, so a hundred people cost far less than a hundred times one.

TRY
1. Stop playing. The box at a hand of the first person, at the left, is selected: press G and \
move it. Only that arm moves, and only that arm is solved.
2. In the Outliner (top right) right-click one of the people, such as Person 007, and choose \
Select Hierarchy. Over the 3D view press Shift+D and move the mouse: the copy works at once, and \
follows its own boxes.
3. In the Outliner click a person and, in the tab Chain IK of the sidebar (N), untick a chain: \
that arm goes back to the pose it had before.
4. Choose another solver for a few people and compare.

GOOD TO KNOW
The controls are empties here, not bones of the same armature. Of a rig that is animated itself \
Blender tells on every frame that it has changed, and it is read again; for a single character \
that does not matter, for a crowd it does. The elbows have no limits for the same reason.
"""


def build() -> bpy.types.Object:
    """Fill the file: one person, and 99 copies."""
    first = human.add_person("Person", is_hinged=False)
    for side, sign in human.SIDES.items():
        chain = human.add_limb(first, f"Arm.{side}", human.ARM, side, "EMPTY")
        chain.use_limits = False
        for control in (chain.target, chain.pole_target):
            control.parent = first
            rigs.move_to_collection(control, "Controls")
        rigs.key_object(chain.target, BEAT, lambda passed, s=sign: _wave(passed, s), step=4)
    human.give_body(first, {}, round_=8)
    # Whoever copies a person with all that hangs on it copies its body, too.
    _body(first).hide_select = False
    random = np.random.default_rng(SEED)
    people = [first, *(_copy(first, number) for number in range(1, ROWS * COLUMNS))]
    for number, rig in enumerate(people):
        row, column = divmod(number, COLUMNS)
        across, turn = random.uniform(-0.12, 0.12, 2), random.uniform(-0.3, 0.3)
        at = Vector(((column - 0.5 * (COLUMNS - 1)) * APART.x, row * APART.y))
        rig.location = (at.x + across[0], at.y + across[1], 0.0)
        rig.rotation_euler.z = turn
        rig.scale = [random.uniform(0.93, 1.07)] * 3
        start = -int(random.integers(0, BEAT))
        for chain in rig.chain_ik.chains:
            _begin_at(chain.target, start)
        _paint(_body(rig), number)
    studio.add_floor(60.0)
    return first


def _wave(passed: float, sign: float) -> Matrix:
    """Return where a hand is, in the space of its person; the hands go up in turn."""
    turn = math.tau * passed + (0.0 if sign > 0.0 else 0.7 * math.pi)
    at = (sign * (0.34 + 0.08 * math.cos(turn)), -0.14, 1.64 + 0.16 * math.sin(turn))
    return rigs.placed(at, (sign * 0.3 * math.cos(turn), -0.25, 1.0), (0.0, 1.0, 0.0))


def _body(rig: bpy.types.Object) -> bpy.types.Object:
    return next(child for child in rig.children if child.type == "MESH")


def _copy(first: bpy.types.Object, number: int) -> bpy.types.Object:
    """Return a copy of a person, with the same bones and mesh and with controls of its own."""
    rig, skin = first.copy(), _body(first).copy()
    rig.name, skin.name = f"Person {number:03d}", f"Person {number:03d} Body"
    for item in (rig, skin):
        rigs.move_to_collection(item, "Person")
    skin.parent = skin.modifiers[0].object = rig
    for chain in rig.chain_ik.chains:
        chain.target, chain.pole_target = chain.target.copy(), chain.pole_target.copy()
        for control in (chain.target, chain.pole_target):
            control.parent = rig
            rigs.move_to_collection(control, "Controls")
    return rig


def _begin_at(control: bpy.types.Object, start: int) -> None:
    """Have a control repeat its action; it begins before the first frame."""
    data = control.animation_data
    action, data.action = data.action, None
    strip = data.nla_tracks.new().strips.new("Cheer", start, action)
    strip.action_frame_start, strip.action_frame_end = 1, 1 + BEAT
    strip.repeat = 2 + FRAMES / BEAT


def _paint(skin: bpy.types.Object, number: int) -> None:
    """Give a copy a colour of its own; the mesh stays shared."""
    names = ("chain", "second", "target", "green", "light")
    slot = skin.material_slots[0]  # of the body; the other one has the eyes
    slot.link = "OBJECT"
    slot.material = bodies.material(names[(number * 7) % len(names)])


EXAMPLE = Example(
    name="crowd",
    build=build,
    control="hand Target.L",
    frames=FRAMES,
    pictured=40,
    look=((0.2, 3.2, 0.9), 15.5, (74.0, 14.0)),
    note=NOTE,
)
