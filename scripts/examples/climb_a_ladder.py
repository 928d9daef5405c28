"""Example of a whole body: hands and feet hold on to a ladder in turn, with keyed pins."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example

FRAMES = 192
# Distance of the rungs, Y of the ladder, number of rungs, half of its width; metres.
RUNG, LADDER_Y, RUNGS, HALF_WIDTH = 0.28, -0.46, 14, 0.24
# The order in which chains let go: one moves up by a rung while the other three hold.
ORDER = ("Arm.L", "Leg.R", "Arm.R", "Leg.L")
CYCLES = 3
MOVES = CYCLES * len(ORDER)
# Chain -> first rung that it holds.
START = {"Leg.L": 1, "Leg.R": 1, "Arm.L": 6, "Arm.R": 6}
# Interval of a move in which a limb is off the ladder, and its swing away from it, metres.
OFF, BACK = (0.15, 0.85), 0.12
HAND_X, FOOT_X = 0.17, 0.10
# Share of a cycle after which the hips rise, and their first height above rest, metres.
RISE, HIPS_ABOVE = 0.7, 0.12


def build() -> bpy.types.Object:
    rig = human.add_person("Climb")
    human.make_whole_body(rig)
    human.add_body(rig, human.limb_colours())
    for name in ORDER:
        rest = rig.pose.bones[_control(name)].bone.matrix_local.copy()
        rigs.key_bone(
            rig, _control(name), FRAMES, lambda passed, n=name, r=rest: _grip(n, r, passed), step=1
        )
        # A limb that moves also has priority over hips and chest.
        rig.chain_ik.chains[name].priority = 2
        _key_pin(rig, name)
    hips = rig.pose.bones["Torso"].bone.matrix_local.copy()
    rigs.key_bone(rig, "Torso", FRAMES, lambda passed: _rise(hips, passed))
    _add_ladder()
    studio.add_floor(12.0)
    return rig


def _control(chain: str) -> str:
    limb, side = chain.split(".")
    return f"{limb} Target.{side}"


def _count_moves(passed: float) -> float:
    """Return the number of finished moves: all at half of the loop, zero again at its end."""
    return MOVES * (1.0 - abs(1.0 - 2.0 * (passed % 1.0)))


def _count_steps(chain: str, passed: float) -> tuple[int, float]:
    """Return the number of finished steps of a limb, and the progress of the present one."""
    steps, share = divmod(_count_moves(passed) - ORDER.index(chain), len(ORDER))
    start, end = OFF
    progress = min(1.0, max(0.0, (share - start) / (end - start)))
    return (int(steps), progress) if steps >= 0.0 else (0, 0.0)


def _grip(chain: str, rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the control of a hand or a foot."""
    steps, progress = _count_steps(chain, passed)
    eased = rigs.ease(progress)
    height = RUNG * (START[chain] + steps + eased)
    back = BACK * math.sin(math.pi * progress) ** 2
    sign = 1.0 if chain.endswith("L") else -1.0
    if chain.startswith("Arm"):
        # The fingers are around the rung.
        place = Vector((sign * HAND_X, LADDER_Y + 0.07 + back, height - 0.05))
        return rigs.make_matrix(place, (0.0, -0.55, 0.83), (0.0, 0.8, 0.55))
    matrix = rest.copy()
    # The ball of the foot is on the rung.
    matrix.translation = (sign * FOOT_X, LADDER_Y + 0.13 + back, height + 0.10)
    return matrix


def _key_pin(rig: bpy.types.Object, name: str) -> None:
    """Key the pin of a chain on the frames where its limb lets go or holds on."""
    chain, was_pinned = rig.chain_ik.chains[name], None
    for frame in rigs.key_frames(FRAMES, 1):
        is_pinned = _count_steps(name, (frame - 1) / FRAMES)[1] in (0.0, 1.0)
        if is_pinned != was_pinned:
            chain.use_pin = was_pinned = is_pinned
            chain.keyframe_insert("use_pin", frame=frame)


def _rise(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the control of the hips, which rise together with the last foot."""
    cycles, share = divmod(_count_moves(passed) / len(ORDER), 1.0)
    progress = max(0.0, (share - RISE) / (1.0 - RISE))
    height = RUNG * (cycles + rigs.ease(progress))
    return Matrix.Translation((0.0, 0.0, HIPS_ABOVE + height)) @ rest


def _add_ladder() -> None:
    thick = 0.018
    for number in range(1, RUNGS + 1):
        middle = Vector((0.0, LADDER_Y, RUNG * number))
        half = Vector((HALF_WIDTH, thick, thick))
        studio.add_block(f"Rung {number}", middle - half, middle + half)
    for sign in (1.0, -1.0):
        middle = Vector((sign * HALF_WIDTH, LADDER_Y, 0.0))
        half = Vector((thick, 0.03, 0.0))
        top = Vector((0.0, 0.0, RUNG * (RUNGS + 1)))
        studio.add_block("Rail", middle - half, middle + half + top)


LOOK = (0.0, -0.25, 1.4), 6.6, (78.0, 140.0)
EXAMPLE = Example("climb_a_ladder", build, "Arm Target.L", FRAMES, 55, LOOK)
