"""Chains that start from the present pose: without a change, nothing moves."""

import bpy
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.posing.frame_solve import FrameSolve
from tests.blender.setups import rigs, ties
from tests.helpers import make_rng, record_calls

# A chain that limits hold back takes up to some seconds: it tries all restarts, first and whenever
# the memory is cleared. FORCE takes ten times as long.
SEEDS = range(2)
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE", "FOLLOW")
KINDS: dict[str, dict[str, object]] = {
    "free": {},
    "limits": {"use_limits": True},
    "pole": {"use_limits": True, "pole": True},
    "turned tip": {"use_limits": True, "use_rotation": True},
    "pole and tip": {"use_limits": True, "use_rotation": True, "pole": True},
    "stretch": {"use_limits": True, "use_stretch": True},
    "influence": {"use_limits": True, "influence": 0.3},
    "influence and pole": {"influence": 0.3, "pole": True},
    "locks": {"locks": True},
    "bare": {"use_limits": True, "use_finish": False},
    "soft": {"soft_distance": 0.3},
    "springs": {"use_limits": True, "use_springs": True},
}


def make_limited(name: str, solver: str, kind: str, seed: int) -> bpy.types.Object:
    """Return a random rig with limited bones, one chain of a kind, and a random target."""
    rng, settings = make_rng(seed), dict(KINDS[kind])
    count = 2 if solver == "TWO_BONE" else int(rng.integers(3, 6))
    ob = rigs.make_rig(rigs.zigzag(count, seed), name)
    for bone in ob.pose.bones:
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -float(rng.uniform(0.1, 0.8)))
            setattr(bone, f"ik_max_{axis}", float(rng.uniform(0.1, 0.8)))
        if settings.get("locks") and rng.uniform() < 0.4:
            bone.rotation_mode = "XYZ"
            bone.lock_rotation = (rng.uniform(size=3) < 0.4).tolist()
    rigs.turn_bones(ob, seed, 0.1)
    direction = rng.normal(size=3)
    place = direction / np.linalg.norm(direction) * rng.uniform(0.1, 1.2) * count
    target = rigs.make_empty(f"{name} Target", place)
    target.rotation_euler = rng.uniform(-1.0, 1.0, 3)
    settings.pop("locks", None)
    if settings.pop("use_springs", False) and solver == "FORCE":
        settings |= {"use_springs": True, "use_gravity": True}
    if settings.pop("pole", False):
        settings["pole_target"] = rigs.make_empty(f"{name} Pole", count * rng.normal(size=3))
    settings = {"use_limits": False, "solver": solver, "start_from": "CURRENT"} | settings
    rigs.add_chain(ob, f"Bone.{count - 1}", target, **settings)
    return ob


def has_setting(solver: str, kind: str) -> bool:
    """Tell whether a solver has the settings of a kind."""
    if solver == "FOLLOW":
        return kind in ("free", "limits", "influence", "locks")
    if solver == "FORCE":
        return kind != "bare"
    if kind == "bare":
        return solver in ("FABRIK", "CCD")
    return kind != "springs"


def local_turns(ob: bpy.types.Object) -> npt.NDArray[np.float64]:
    """Return the evaluated local rotations of all bones, shape (n, 3, 3)."""
    posed = rigs.evaluated(ob).pose.bones
    return np.array([bone.matrix_basis.to_3x3() for bone in posed])


def largest_turn(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return the largest turn of a bone between two states, rotations (n, 3, 3), in degrees."""
    sine = np.linalg.norm(one - other, axis=(1, 2)) / np.sqrt(8.0)
    return float(np.degrees(2.0 * np.arcsin(np.clip(sine, 0.0, 1.0))).max())


def update_and_measure(
    obs: list[bpy.types.Object], times: int, *, is_memory_cleared: bool = False
) -> dict[str, list[float]]:
    """Tag and update rigs; return the largest turn in each update, degrees, by the rig's name."""
    angles: dict[str, list[float]] = {ob.name: [] for ob in obs}
    for _ in range(times):
        before = {ob.name: local_turns(ob) for ob in obs}
        if is_memory_cleared:
            # Undo and loading clear it too.
            live.memory.clear()
        rigs.tagged(*obs)
        for ob in obs:
            angles[ob.name].append(largest_turn(local_turns(ob), before[ob.name]))
    return angles


# Solves in one update of a chain that has not arrived: the first one, and more until it rests.
MAX_PASSES = 6
# Largest turn of a bone at rest, degrees: the rounding of float32 channels.
MAX_TURN = 1e-4
CASES = [
    (solver, kind)
    for kind in KINDS
    for solver in SOLVERS
    # FORCE is slow if limits hold it back.
    if has_setting(solver, kind) and (solver != "FORCE" or kind in ("pole", "influence and pole"))
]


@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_nothing_moves_where_nothing_has_changed(solver, kind):
    """Promise 4, for chains that start from their last pose."""
    obs = [make_limited(f"Rig{seed}", solver, kind, seed) for seed in SEEDS]
    rigs.updated()
    for name, turned in update_and_measure(obs, 4).items():
        assert max(turned) <= MAX_TURN, (name, turned)
    if kind == "locks":
        # Solvers ignore locked channels: from the pose after the locks they find another one.
        return
    # One update is enough: the same start pose gives the same solve.
    for name, turned in update_and_measure(obs, 1, is_memory_cleared=True).items():
        assert max(turned) <= MAX_TURN, (name, turned)


@pytest.mark.parametrize(("seed", "use_anchor"), [(73, False), (78, False), (61, True), (55, True)])
def test_a_dragged_chain_within_limits_does_not_creep(seed, use_anchor):
    """Promise 4: rounding errors turned it by 1e-7 at each update, and added up."""
    ob = make_limited("Rig", "FOLLOW", "limits", seed)
    rigs.change(ob.chain_ik.chains[0], use_anchor=use_anchor)
    assert update_and_measure([ob], 12)["Rig"] == [0.0] * 12


@pytest.mark.parametrize("starts", [("CURRENT", "KEYED"), ("KEYED", "CURRENT")])
def test_nothing_moves_where_a_setting_of_a_tree_is_driven(starts):
    """Promise 4, where a part of the tree starts from its last pose."""
    ob = rigs.make_rig(rigs.zigzag(3, 1))
    for tip, start, place in zip((1, 2), starts, ((2, 3, 0.3), (0.4, 0.9, 1.1)), strict=True):
        target, _ = rigs.follow(ob, f"Bone.{tip}", place, start_from=start, weight=0.5)
    ties.drive(ob, "chain_ik.chains[1].weight", target, "LOC_Y")
    rigs.updated()
    assert update_and_measure([ob], 4)[ob.name] == [0.0] * 4
    before, target.location.y = local_turns(ob), 0.5
    rigs.updated()
    assert ob.chain_ik.chains[1].weight == pytest.approx(0.5)
    assert largest_turn(local_turns(ob), before) > 1.0


def make_below_uneven_scale(seed: int, bone: str, inherited: str) -> bpy.types.Object:
    """Return a rig whose pole lay on another side when seen from the last pose."""
    ob = rigs.make_rig(rigs.zigzag(3, seed))
    rigs.turn_bones(ob, seed, 0.6)
    ob.data.bones["Bone.1"].inherit_scale = inherited
    ob.pose.bones[bone].scale = (3.0, 1.0, 1.0)
    places = make_rng(seed).uniform(-1.0, 1.5, (2, 3))
    target, pole = (rigs.make_empty(location=place) for place in places * ((1.0,), (2.0,)))
    rigs.add_chain(ob, "Bone.2", target, start_from="CURRENT", pole_target=pole)
    return ob


def make_stored_beyond_limits(seed: int, solver: str) -> bpy.types.Object:
    """Return a rig whose next solve misread the share of the stored pose that influence leaves."""
    ob = rigs.make_rig(rigs.zigzag(3, seed))
    for bone in ob.pose.bones:
        bone.lock_ik_y = bone.use_ik_limit_x = True
        bone.ik_min_x, bone.ik_max_x = -0.3, 0.3
    rigs.turn_bones(ob, seed, 0.9)
    target = rigs.make_empty(location=make_rng(seed).normal(size=3))
    rigs.add_chain(ob, "Bone.2", target, solver=solver, start_from="CURRENT", influence=0.4)
    ob.chain_ik.chains[0].use_limits = True
    return ob


def make_flipped(angle: float, solver: str) -> bpy.types.Object:
    """Return a rig whose pole is its target and gives no side: each solve took the other side."""
    ob = make_limited("Rig", solver, "free", 3)
    chain = ob.chain_ik.chains[0]
    chain.pole_target, chain.pole_angle, chain.use_flip_bend = chain.target, angle, angle == 0.0
    return ob


def make_held_below_uneven_scale(
    scale: tuple[float, ...], seed: int, solver: str
) -> bpy.types.Object:
    """Return a rig for which up to ten solves in turn found a pose nearer to the target."""
    ob = rigs.make_rig(rigs.zigzag(4, seed))
    rigs.turn_bones(ob, seed, 0.6)
    rigs.limit_bones(ob, x=(-0.6, 0.6), z=(-0.6, 0.6))
    direction = make_rng(seed).normal(size=3)
    target = rigs.make_empty(location=6.0 * direction / np.linalg.norm(direction))
    rigs.add_chain(ob, "Bone.3", target, solver=solver, start_from="CURRENT")
    rigs.updated()
    ob.pose.bones["Bone.0"].scale = scale
    return ob


def make_wandering(inherited: str, solver: str) -> bpy.types.Object:
    """Return a rig with uneven scale: solves ended elsewhere, nearer to the target or farther."""
    ob = rigs.make_armature("Rig")
    rigs.add_bones(ob, rigs.zigzag(5, 1), is_connected=False)
    rigs.turn_bones(ob, 1, 0.6)
    ob.data.bones["Bone.4"].inherit_scale = inherited
    rng = make_rng(1)
    end = rng.normal(size=3)
    end *= rng.uniform(2.0, 4.5) / np.linalg.norm(end)
    ob.pose.bones["Bone.0"].scale = (1.0, -0.465, 1.0)
    ob.pose.bones["Bone.4"].location = 0.3 * rng.normal(size=3)
    rigs.add_chain(ob, "Bone.4", rigs.make_empty(location=end), solver=solver, start_from="CURRENT")
    return ob


STAYING_RIGS = [
    (make_below_uneven_scale, 0, "Bone.0", "FULL"),
    (make_below_uneven_scale, 3, "Bone.1", "FIX_SHEAR"),
    (make_stored_beyond_limits, 2, "NEWTON"),
    (make_stored_beyond_limits, 4, "CCD"),
    *((make_flipped, angle, "NEWTON") for angle in (0.0, 0.8)),
    (make_flipped, 0.0, "CCD"),
    (make_held_below_uneven_scale, (3, 1, 1), 0, "NEWTON"),
    (make_held_below_uneven_scale, (1, 0.4, 1), 1, "FABRIK"),
    (make_wandering, "FIX_SHEAR", "NEWTON"),
    (make_wandering, "ALIGNED", "CCD"),
]


@pytest.mark.every_case
@pytest.mark.parametrize("case", STAYING_RIGS, ids=lambda case: case[0].__name__)
def test_a_chain_stays_after_undo(case):
    """Promise 4: the docstring of each rig says why it used to move."""
    make, *settings = case
    ob = make(*settings)
    rigs.updated()
    assert max(update_and_measure([ob], 2, is_memory_cleared=True)[ob.name]) <= MAX_TURN


@pytest.mark.parametrize(
    "places", [((2, 3, 0.3), (0.4, 0.9, 1.1)), ((0.6, 0.5, 1.2), (0.3, 2.5, 3.4))]
)
@pytest.mark.parametrize("starts", [("KEYED", "CURRENT"), ("CURRENT", "REST")])
def test_a_tree_stays_after_undo_where_only_a_part_of_it_starts_from_its_last_pose(starts, places):
    """Promise 4: the other part started from a pose of no solve, and moved the whole tree."""
    ob = rigs.make_rig(rigs.zigzag(4, 1))
    rigs.add_bones(ob, [(0, 0, 1), (0, 0.2, 1.8)], prefix="Side", parent="Bone.0")
    rigs.turn_bones(ob)
    for tip, start, place in zip(("Bone.3", "Side.0"), starts, places, strict=True):
        rigs.add_chain(ob, tip, rigs.make_empty(location=place), start_from=start)
    rigs.updated()
    assert max(update_and_measure([ob], 3, is_memory_cleared=True)[ob.name]) <= MAX_TURN
    before, ob.chain_ik.chains[1].target.location.x = local_turns(ob), 0.8
    rigs.updated()
    assert largest_turn(local_turns(ob), before) > 1.0


@pytest.mark.parametrize(("seed", "starts"), [(1, ("CURRENT", "KEYED")), (3, ("KEYED", "CURRENT"))])
def test_a_tree_that_starts_in_part_from_its_last_pose_is_at_rest_at_once(
    seed, starts, monkeypatch
):
    """Two poses at the same distance alternated, sixteen times in one update."""
    ob = rigs.make_rig(rigs.zigzag(4, seed))
    rigs.limit_bones(ob, x=(-0.5, 0.5), z=(-0.5, 0.5))
    rng = make_rng(seed)
    for tip, start in zip((1, 3), starts, strict=True):
        target = rigs.make_empty(f"Target {tip}", 3.0 * rng.normal(size=3))
        rigs.add_chain(ob, f"Bone.{tip}", target, start_from=start, use_limits=True)
    passes = record_calls(monkeypatch, FrameSolve, "solved")
    for _ in range(3):
        target.location = 3.0 * rng.normal(size=3)
        passes.clear()
        rigs.updated()
        assert 0 < len(passes) <= MAX_PASSES
        assert max(update_and_measure([ob], 1, is_memory_cleared=True)[ob.name]) <= MAX_TURN


def test_a_target_that_creeps_is_followed_and_a_pose_by_hand_is_taken_over():
    """After many small steps the tip is as near as after one large step."""
    ob, step = make_limited("Rig", "NEWTON", "limits", 2), np.array((0.002, -0.001, 0.0007))
    target, chain = bpy.data.objects["Rig Target"], ob.chain_ik.chains[0]
    rigs.updated()
    first = np.array(target.location)
    for share in np.linspace(0.0, 1.0, 10):
        rigs.change(target, location=first + share * step)
    twin = make_limited("Twin", "NEWTON", "limits", 2)
    rigs.change(bpy.data.objects["Twin Target"], location=first + step)
    assert chain.status.startswith("Held back")
    assert chain.residual <= twin.chain_ik.chains[0].residual + 3e-5 * len(ob.pose.bones)
    before = local_turns(ob)
    rigs.change(ob.pose.bones["Bone.0"], rotation_quaternion=(0.98, 0.0, 0.0, 0.2))
    assert largest_turn(local_turns(ob), before) > 1.0


@pytest.mark.parametrize(("solver", "seed"), [("CCD", 3), ("NEWTON", 6)])
def test_a_share_that_limits_hold_is_one_of_the_last_solution(solver, seed):
    """As a share of another one, a small move of the target turned bones by up to 143 degrees."""
    ob = rigs.make_rig(rigs.zigzag(3, seed))
    rigs.turn_bones(ob, seed, 1.0)
    rigs.limit_bones(ob, x=(-0.3, 0.5), z=(-0.4, 0.4))
    place, settings = make_rng(seed).uniform(-2.0, 2.0, 3), {"solver": solver, "influence": 0.7}
    target, _ = rigs.follow(ob, "Bone.2", place, start_from="CURRENT", **settings)
    rigs.updated()
    for _ in range(4):
        before = local_turns(ob)
        rigs.shift(target, x=1e-4)
        assert largest_turn(local_turns(ob), before) < 0.1
