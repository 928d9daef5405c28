"""Points of bodies stay above a floor, whatever pulls."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Floor, Goal, SolveOptions, solve, solve_batch
from blender_ik_addon.core.model.records import join_records
from tests.core.bodies import FEET, HEIGHT, Person, make_person
from tests.helpers import make_rng

PERSON = make_person("hand.L", "hips")
UPRIGHT = np.tile((1.0, 0.0, 0.0, 0.0), (4, 1))
OPTIONS = SolveOptions(tolerance=1e-6)
# The soles are this far below the feet.
SOLE = PERSON.ends[0, 1]
POINTS = ("shin.L", "shin.R", "hand.L", "hand.R", "neck")
TINY = 1e-6 * HEIGHT
# How far pins may slip as hips are pulled and points pressed on the floor: as in evaluated rigs.
SLIP = 2e-5 * HEIGHT
# Seeds with which a point would pass the floor.
TOUCHED = (33, 126)


def floor_at(person: Person, level: float) -> Floor:
    """Return a floor that knees, hands and the head do not pass, at a height."""
    rows = [person.names.index(name) for name in POINTS]
    return Floor(rows, person.heads[rows], (0.0, 2.0, 0.0), (5.0, level, -3.0))


def pull(hand=(0.0, 0.0, 0.0), hips=None, priority=(0, 0, 2, 2), floor=None) -> Goal:
    """Return the goals of feet that stay, a hand that goes a way, and hips that go one."""
    target = PERSON.ends.copy()
    target[2] += hand
    if hips is None:
        priority = (*priority[:3], 9)
    else:
        target[3] += hips
    has_tip = (*FEET, False)
    return Goal(
        target, tip_rotation_wxyz=UPRIGHT, priority=priority, has_tip_rotation=has_tip, floor=floor
    )


def heights(person: Person, solution, level: float) -> np.ndarray:
    rows = [person.names.index(name) for name in POINTS]
    return solution.joint_positions[rows, 1] - level


def test_what_stays_above_the_floor_does_not_feel_it():
    for seed in range(3):
        way = make_rng(seed).normal(size=3) * 0.2
        free = solve(PERSON.chain, pull(way), OPTIONS)
        nothing = Floor((), np.zeros((0, 3)), (0.0, 1.0, 0.0), (0.0, HEIGHT, 0.0))
        for floor in (floor_at(PERSON, SOLE - 0.5), nothing):
            floored = solve(PERSON.chain, pull(way, floor=floor), OPTIONS)
            assert np.array_equal(free.joint_positions, floored.joint_positions)
            assert floored.forces[-1] == 0.0


@pytest.mark.parametrize("seed", [0, *TOUCHED])
def test_no_point_passes_the_floor_and_pins_stay(seed):
    rng = make_rng(seed)
    hand, hips = rng.normal(size=(2, 3)) * (0.5, 0.6, 0.5)
    hips[1] = -abs(hips[1])
    level = SOLE + rng.uniform(-0.05, 0.25)
    goal = pull(hand, hips, floor=floor_at(PERSON, level))
    solution = solve(PERSON.chain, goal, OPTIONS)
    assert solution.residual[:2].max() <= SLIP
    assert heights(PERSON, solution, level).min() >= -TINY
    if seed in TOUCHED:
        free = solve(PERSON.chain, replace(goal, floor=None), OPTIONS)
        assert heights(PERSON, free, level).min() < -TINY


def test_bodies_side_by_side_have_their_own_floors():
    goals = [
        pull(np.array((0.2, -1.8, 0.2)), floor=floor_at(PERSON, SOLE + lift))
        for lift in (0.2, -2.0)
    ]
    alone = [solve(PERSON.chain, goal, OPTIONS) for goal in goals]
    chains = PERSON.chain.as_batch().take(np.zeros(2, dtype=int))
    batches = [goal.as_batch() for goal in goals]
    floor = join_records([each.floor for each in batches])
    together = replace(join_records(batches), floor=floor)
    found = solve_batch(chains, together, OPTIONS)
    for row, solution in enumerate(alone):
        # To the last bit: where two poses are as good as each other, the last digit chooses.
        assert np.array_equal(found[row].joint_positions, solution.joint_positions)


def test_what_pins_hold_below_the_floor_takes_no_other_point_along():
    # Feet are pinned so far below that knees cannot rise to it.
    level = SOLE + 0.6
    floor = floor_at(PERSON, level)
    solution = solve(PERSON.chain, pull(np.array((0.2, -1.2, 0.2)), floor=floor), OPTIONS)
    above = heights(PERSON, solution, level)
    assert solution.residual[:2].max() <= TINY
    assert above[:2].max() < 0.0
    assert above[2:].min() >= -TINY


# Forces on what cannot be held grow from step to step until no float tells them.
@pytest.mark.filterwarnings("error")
def test_the_floor_takes_nothing_from_pins_that_cannot_be_met():
    up = np.array((0.0, 1.0, 0.0))
    priority = (0, 0, 0, 2)
    free = solve(PERSON.chain, pull(up, priority=priority), OPTIONS)
    assert free.residual[:3].max() > 0.01
    floor = floor_at(PERSON, float(free.joint_positions[:, 1].min()) + 0.3)
    held = solve(PERSON.chain, pull(up, priority=priority, floor=floor), OPTIONS)
    assert held.residual[:3].max() <= free.residual[:3].max() + TINY
    assert held.forces[-1] < 1e6
