"""A whole body: hands and feet hold on to a ladder in turn, with keys of their pins."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example

FRAMES = 192
# Metres: rungs are that far apart, and the ladder stands that far in front.
RUNG, LADDER_Y, RUNGS, HALF_WIDTH = 0.28, -0.46, 14, 0.24
# In the order in which they let go: each goes up by a rung while the three others hold.
ORDER = ("Arm.L", "Leg.R", "Arm.R", "Leg.L")
CYCLES = 3
MOVES = CYCLES * len(ORDER)
# The rung that each holds at first.
START = {"Leg.L": 1, "Leg.R": 1, "Arm.L": 6, "Arm.R": 6}
# Share of a move in which a limb is off the ladder, and how far it swings back, metres.
OFF, BACK = (0.15, 0.85), 0.12
HAND_X, FOOT_X = 0.17, 0.10
# Share of a cycle after which the hips rise, and where they begin above rest, metres.
RISE, HIPS_ABOVE = 0.7, 0.12


def build() -> bpy.types.Object:
    rig = human.add_person("Climb")
    human.make_whole_body(rig)
    human.give_body(rig, human.limb_colours())
    for name in ORDER:
        rest = rig.pose.bones[_control(name)].bone.matrix_local.copy()
        rigs.key_bone(
            rig, _control(name), FRAMES, lambda passed, n=name, r=rest: _held(n, r, passed), step=1
        )
        # What swings goes before hips and chest, too.
        rig.chain_ik.chains[name].priority = 2
        _key_pin(rig, name)
    hips = rig.pose.bones["Torso"].bone.matrix_local.copy()
    rigs.key_bone(rig, "Torso", FRAMES, lambda passed: _risen(hips, passed))
    _add_ladder()
    studio.add_floor(12.0)
    return rig


def _control(chain: str) -> str:
    limb, side = chain.split(".")
    return f"{limb} Target.{side}"


def _moves(passed: float) -> float:
    """Return how many moves are done: all of them at half time, none again at the end."""
    return MOVES * (1.0 - abs(1.0 - 2.0 * (passed % 1.0)))


def _steps(chain: str, passed: float) -> tuple[int, float]:
    """Return how many steps a limb has done, and the share of the present one."""
    done, share = divmod(_moves(passed) - ORDER.index(chain), len(ORDER))
    start, end = OFF
    progress = min(1.0, max(0.0, (share - start) / (end - start)))
    return (int(done), progress) if done >= 0.0 else (0, 0.0)


def _held(chain: str, rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the control of a hand or foot."""
    done, progress = _steps(chain, passed)
    eased = rigs.eased(progress)
    height = RUNG * (START[chain] + done + eased)
    back = BACK * math.sin(math.pi * progress) ** 2
    sign = 1.0 if chain.endswith("L") else -1.0
    if chain.startswith("Arm"):
        # The fingers close about the rung.
        place = Vector((sign * HAND_X, LADDER_Y + 0.07 + back, height - 0.05))
        return rigs.placed(place, (0.0, -0.55, 0.83), (0.0, 0.8, 0.55))
    moved = rest.copy()
    # The ball of the foot stands on the rung.
    moved.translation = (sign * FOOT_X, LADDER_Y + 0.13 + back, height + 0.10)
    return moved


def _key_pin(rig: bpy.types.Object, name: str) -> None:
    """Key the pin of a chain where its limb lets go and where it holds on again."""
    chain, was_pinned = rig.chain_ik.chains[name], None
    for frame in rigs.key_frames(FRAMES, 1):
        pinned = _steps(name, (frame - 1) / FRAMES)[1] in (0.0, 1.0)
        if pinned != was_pinned:
            chain.use_pin = was_pinned = pinned
            chain.keyframe_insert("use_pin", frame=frame)


def _risen(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the control of the hips, which rise while the last foot does."""
    done, share = divmod(_moves(passed) / len(ORDER), 1.0)
    progress = max(0.0, (share - RISE) / (1.0 - RISE))
    height = RUNG * (done + rigs.eased(progress))
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
