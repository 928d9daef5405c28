"""Points of bodies stay above a floor."""

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
# The height of the soles.
SOLE = PERSON.ends[0, 1]
POINTS = ("shin.L", "shin.R", "hand.L", "hand.R", "neck")
TINY = 1e-6 * HEIGHT
# The largest slip of pins with pulled hips and points on the floor, as in evaluated rigs.
SLIP = 2e-5 * HEIGHT
# Seeds for which a point would pass the floor.
TOUCHED = (33, 126)


def floor_at(person: Person, level: float) -> Floor:
    """Return a floor for knees, hands and the head, at a height."""
    rows = [person.names.index(name) for name in POINTS]
    return Floor(rows, person.heads[rows], (0.0, 2.0, 0.0), (5.0, level, -3.0))


def pull(hand=(0.0, 0.0, 0.0), hips=None, priority=(0, 0, 2, 2), floor=None) -> Goal:
    """Return goals that keep the feet, and move the hand and the hips by offsets."""
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


def test_a_floor_changes_nothing_for_points_that_stay_above_it():
    for seed in range(3):
        offset = make_rng(seed).normal(size=3) * 0.2
        free = solve(PERSON.chain, pull(offset), OPTIONS)
        empty = Floor((), np.zeros((0, 3)), (0.0, 1.0, 0.0), (0.0, HEIGHT, 0.0))
        for floor in (floor_at(PERSON, SOLE - 0.5), empty):
            floored = solve(PERSON.chain, pull(offset, floor=floor), OPTIONS)
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


def test_bodies_of_a_batch_have_different_floors():
    goals = [
        pull(np.array((0.2, -1.8, 0.2)), floor=floor_at(PERSON, SOLE + lift))
        for lift in (0.2, -2.0)
    ]
    alone = [solve(PERSON.chain, goal, OPTIONS) for goal in goals]
    chains = PERSON.chain.as_batch().take(np.zeros(2, dtype=int))
    batches = [goal.as_batch() for goal in goals]
    floor = join_records([batch.floor for batch in batches])
    together = replace(join_records(batches), floor=floor)
    solutions = solve_batch(chains, together, OPTIONS)
    for row, solution in enumerate(alone):
        # Equal to the last bit: where two poses are equally good, the last digit chooses.
        assert np.array_equal(solutions[row].joint_positions, solution.joint_positions)


def test_points_that_pins_hold_below_the_floor_pull_no_other_point_below():
    # The feet are pinned so far below the floor that the knees cannot rise to it.
    level = SOLE + 0.6
    floor = floor_at(PERSON, level)
    solution = solve(PERSON.chain, pull(np.array((0.2, -1.2, 0.2)), floor=floor), OPTIONS)
    heights_above = heights(PERSON, solution, level)
    assert solution.residual[:2].max() <= TINY
    assert heights_above[:2].max() < 0.0
    assert heights_above[2:].min() >= -TINY


# Forces on points that cannot be held grow from step to step until floats overflow.
@pytest.mark.filterwarnings("error")
def test_the_floor_does_not_move_pins_that_cannot_be_met_farther():
    up = np.array((0.0, 1.0, 0.0))
    priority = (0, 0, 0, 2)
    free = solve(PERSON.chain, pull(up, priority=priority), OPTIONS)
    assert free.residual[:3].max() > 0.01
    floor = floor_at(PERSON, float(free.joint_positions[:, 1].min()) + 0.3)
    held = solve(PERSON.chain, pull(up, priority=priority, floor=floor), OPTIONS)
    assert held.residual[:3].max() <= free.residual[:3].max() + TINY
    assert held.forces[-1] < 1e6
