"""Chains that start from what stands there: where nothing changes, nothing moves."""

import bpy
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.posing.frame_solve import FrameSolve
from tests.blender.setups import rigs
from tests.helpers import make_rng, noted

# A chain that is held back costs up to some seconds, as it tries all of its new starts in vain, at
# first and once whenever everything is forgotten; FORCE costs ten times as much.
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
    """Return a rig at random whose one chain cannot bring its tip to its target."""
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
    way = rng.normal(size=3)
    place = way / np.linalg.norm(way) * rng.uniform(0.1, 1.2) * count
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


def is_known(solver: str, kind: str) -> bool:
    """Tell whether a solver has a kind of setting."""
    if solver == "FOLLOW":
        return kind in ("free", "limits", "influence", "locks")
    if solver == "FORCE":
        return kind != "bare"
    if kind == "bare":
        return solver in ("FABRIK", "CCD")
    return kind != "springs"


def turns(ob: bpy.types.Object) -> npt.NDArray[np.float64]:
    """Return the evaluated local rotations of all bones, shape (n, 3, 3)."""
    posed = rigs.evaluated(ob).pose.bones
    return np.array([bone.matrix_basis.to_3x3() for bone in posed])


def turned_by(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return the greatest turn of a bone in degrees."""
    sine = np.linalg.norm(one - other, axis=(1, 2)) / np.sqrt(8.0)
    return float(np.degrees(2.0 * np.arcsin(np.clip(sine, 0.0, 1.0))).max())


def shake(
    obs: list[bpy.types.Object], times: int, *, forgets: bool = False
) -> dict[str, list[float]]:
    """Tag, update, and return by how many degrees each of them has turned, each time."""
    found: dict[str, list[float]] = {ob.name: [] for ob in obs}
    for _ in range(times):
        before = {ob.name: turns(ob) for ob in obs}
        if forgets:
            # As undo and loading do.
            live.memory.clear()
        rigs.tagged(*obs)
        for ob in obs:
            found[ob.name].append(turned_by(turns(ob), before[ob.name]))
    return found


# Of an update of what has not arrived: the solve, and until it stays.
MOST_PASSES = 6
# Degrees: what float32 channels tell.
STILL = 1e-4
CASES = [
    (solver, kind)
    for kind in KINDS
    for solver in SOLVERS
    # FORCE is slow where limits hold it back.
    if is_known(solver, kind) and (solver != "FORCE" or kind in ("pole", "influence and pole"))
]


@pytest.mark.parametrize(("solver", "kind"), CASES)
def test_nothing_moves_where_nothing_has_changed(solver, kind):
    """Promise 4, of chains that start from their own last pose."""
    obs = [make_limited(f"Rig{seed}", solver, kind, seed) for seed in SEEDS]
    rigs.updated()
    for name, turned in shake(obs, 4).items():
        assert max(turned) <= STILL, (name, turned)
    if kind == "locks":
        # Solvers do not know locked channels: from what these leave they find another pose.
        return
    # Once: from the same pose it is the same solve again.
    for name, turned in shake(obs, 1, forgets=True).items():
        assert max(turned) <= STILL, (name, turned)


@pytest.mark.parametrize(("seed", "use_anchor"), [(73, False), (78, False), (61, True), (55, True)])
def test_a_dragged_chain_within_limits_does_not_creep(seed, use_anchor):
    """Promise 4: by rounding alone it turned by 1e-7 at each update, which adds up."""
    ob = make_limited("Rig", "FOLLOW", "limits", seed)
    rigs.change(ob.chain_ik.chains[0], use_anchor=use_anchor)
    assert shake([ob], 12)["Rig"] == [0.0] * 12


@pytest.mark.parametrize("starts", [("CURRENT", "KEYED"), ("KEYED", "CURRENT")])
def test_nothing_moves_where_a_setting_of_a_tree_is_driven(starts):
    """Promise 4, where a part of the tree starts from its own last pose."""
    ob = rigs.make_rig(rigs.zigzag(3, 1))
    for tip, start, place in zip((1, 2), starts, ((2, 3, 0.3), (0.4, 0.9, 1.1)), strict=True):
        target, _ = rigs.follow(ob, f"Bone.{tip}", place, start_from=start, weight=0.5)
    driver = ob.driver_add("chain_ik.chains[1].weight").driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.type, variable.targets[0].id = "TRANSFORMS", target
    rigs.change(variable.targets[0], transform_type="LOC_Y")
    assert shake([ob], 4)[ob.name] == [0.0] * 4
    before, target.location.y = turns(ob), 0.5
    rigs.updated()
    assert ob.chain_ik.chains[1].weight == pytest.approx(0.5)
    assert turned_by(turns(ob), before) > 1.0


def make_below_uneven_scale(seed: int, bone: str, inherited: str) -> bpy.types.Object:
    """Seen from its own last pose the side of the pole was another one."""
    ob = rigs.make_rig(rigs.zigzag(3, seed))
    rigs.turn_bones(ob, seed, 0.6)
    ob.data.bones["Bone.1"].inherit_scale = inherited
    ob.pose.bones[bone].scale = (3.0, 1.0, 1.0)
    places = make_rng(seed).uniform(-1.0, 1.5, (2, 3))
    target, pole = (rigs.make_empty(location=place) for place in places * ((1.0,), (2.0,)))
    rigs.add_chain(ob, "Bone.2", target, start_from="CURRENT", pole_target=pole)
    return ob


def make_stored_beyond_limits(seed: int, solver: str) -> bpy.types.Object:
    """What influence left of the stored pose was not what the next solve took it for."""
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
    """A pole that is the target tells no side: each solve took the other one than the last."""
    ob = make_limited("Rig", solver, "free", 3)
    chain = ob.chain_ik.chains[0]
    chain.pole_target, chain.pole_angle, chain.use_flip_bend = chain.target, angle, angle == 0.0
    return ob


def make_held_below_uneven_scale(
    scale: tuple[float, ...], seed: int, solver: str
) -> bpy.types.Object:
    """Up to ten solves found something nearer, one after the other."""
    ob = rigs.make_rig(rigs.zigzag(4, seed))
    rigs.turn_bones(ob, seed, 0.6)
    rigs.limit_bones(ob, x=(-0.6, 0.6), z=(-0.6, 0.6))
    way = make_rng(seed).normal(size=3)
    target = rigs.make_empty(location=6.0 * way / np.linalg.norm(way))
    rigs.add_chain(ob, "Bone.3", target, solver=solver, start_from="CURRENT")
    rigs.updated()
    ob.pose.bones["Bone.0"].scale = scale
    return ob


def make_astray(inherited: str, solver: str) -> bpy.types.Object:
    """By uneven scale each solve ended elsewhere, as often farther from the target as nearer."""
    ob = rigs.make_armature("Rig")
    rigs.add_bones(ob, rigs.zigzag(5, 1), is_connected=False)
    rigs.turn_bones(ob, 1, 0.6)
    ob.data.bones["Bone.4"].inherit_scale = inherited
    rng = make_rng(1)
    way = rng.normal(size=3)
    way *= rng.uniform(2.0, 4.5) / np.linalg.norm(way)
    ob.pose.bones["Bone.0"].scale = (1.0, -0.465, 1.0)
    ob.pose.bones["Bone.4"].location = 0.3 * rng.normal(size=3)
    rigs.add_chain(ob, "Bone.4", rigs.make_empty(location=way), solver=solver, start_from="CURRENT")
    return ob


STAYING = [
    (make_below_uneven_scale, 0, "Bone.0", "FULL"),
    (make_below_uneven_scale, 3, "Bone.1", "FIX_SHEAR"),
    (make_stored_beyond_limits, 2, "NEWTON"),
    (make_stored_beyond_limits, 4, "CCD"),
    *((make_flipped, angle, "NEWTON") for angle in (0.0, 0.8)),
    (make_flipped, 0.0, "CCD"),
    (make_held_below_uneven_scale, (3, 1, 1), 0, "NEWTON"),
    (make_held_below_uneven_scale, (1, 0.4, 1), 1, "FABRIK"),
    (make_astray, "FIX_SHEAR", "NEWTON"),
    (make_astray, "ALIGNED", "CCD"),
]


@pytest.mark.every_case
@pytest.mark.parametrize("case", STAYING, ids=lambda case: case[0].__name__)
def test_a_chain_stays_after_undo(case):
    """Promise 4: what made each of them move is said where it is made."""
    make, *settings = case
    ob = make(*settings)
    rigs.updated()
    assert max(shake([ob], 2, forgets=True)[ob.name]) <= STILL


@pytest.mark.parametrize(
    "places", [((2, 3, 0.3), (0.4, 0.9, 1.1)), ((0.6, 0.5, 1.2), (0.3, 2.5, 3.4))]
)
@pytest.mark.parametrize("starts", [("KEYED", "CURRENT"), ("CURRENT", "REST")])
def test_a_tree_stays_after_undo_where_only_a_part_of_it_starts_from_its_last_pose(starts, places):
    """Promise 4: the other part started from what no solve had left, and drew all of it along."""
    ob = rigs.make_rig(rigs.zigzag(4, 1))
    rigs.add_bones(ob, [(0, 0, 1), (0, 0.2, 1.8)], prefix="Side", parent="Bone.0")
    rigs.turn_bones(ob)
    for tip, start, place in zip(("Bone.3", "Side.0"), starts, places, strict=True):
        rigs.add_chain(ob, tip, rigs.make_empty(location=place), start_from=start)
    rigs.updated()
    assert max(shake([ob], 3, forgets=True)[ob.name]) <= STILL
    before, ob.chain_ik.chains[1].target.location.x = turns(ob), 0.8
    rigs.updated()
    assert turned_by(turns(ob), before) > 1.0


@pytest.mark.parametrize(("seed", "starts"), [(1, ("CURRENT", "KEYED")), (3, ("KEYED", "CURRENT"))])
def test_a_tree_that_starts_in_part_from_its_last_pose_is_at_rest_at_once(
    seed, starts, monkeypatch
):
    """Two poses as near as each other took turns, sixteen times an update."""
    ob = rigs.make_rig(rigs.zigzag(4, seed))
    rigs.limit_bones(ob, x=(-0.5, 0.5), z=(-0.5, 0.5))
    rng = make_rng(seed)
    for tip, start in zip((1, 3), starts, strict=True):
        target = rigs.make_empty(f"Target {tip}", 3.0 * rng.normal(size=3))
        rigs.add_chain(ob, f"Bone.{tip}", target, start_from=start, use_limits=True)
    passes = noted(monkeypatch, FrameSolve, "solved")
    for _ in range(3):
        target.location = 3.0 * rng.normal(size=3)
        passes.clear()
        rigs.updated()
        assert 0 < len(passes) <= MOST_PASSES
        assert max(shake([ob], 1, forgets=True)[ob.name]) <= STILL


def test_a_target_that_creeps_is_followed_and_a_pose_by_hand_is_taken_over():
    """However small its steps, the tip gets as near as if the target had gone there at once."""
    ob, way = make_limited("Rig", "NEWTON", "limits", 2), np.array((0.002, -0.001, 0.0007))
    target, chain = bpy.data.objects["Rig Target"], ob.chain_ik.chains[0]
    rigs.updated()
    first = np.array(target.location)
    for share in np.linspace(0.0, 1.0, 10):
        rigs.change(target, location=first + share * way)
    twin = make_limited("Twin", "NEWTON", "limits", 2)
    rigs.change(bpy.data.objects["Twin Target"], location=first + way)
    assert chain.status.startswith("Held back")
    assert chain.residual <= twin.chain_ik.chains[0].residual + 3e-5 * len(ob.pose.bones)
    before = turns(ob)
    rigs.change(ob.pose.bones["Bone.0"], rotation_quaternion=(0.98, 0.0, 0.0, 0.2))
    assert turned_by(turns(ob), before) > 1.0


@pytest.mark.parametrize(("solver", "seed"), [("CCD", 3), ("NEWTON", 6)])
def test_a_share_that_limits_hold_is_one_of_the_last_solution(solver, seed):
    """Taken for one of another, a target that was nudged turned bones by up to 143 degrees."""
    ob = rigs.make_rig(rigs.zigzag(3, seed))
    rigs.turn_bones(ob, seed, 1.0)
    rigs.limit_bones(ob, x=(-0.3, 0.5), z=(-0.4, 0.4))
    place, settings = make_rng(seed).uniform(-2.0, 2.0, 3), {"solver": solver, "influence": 0.7}
    target, _ = rigs.follow(ob, "Bone.2", place, start_from="CURRENT", **settings)
    rigs.updated()
    for _ in range(4):
        before = turns(ob)
        target.location.x += 1e-4
        rigs.updated()
        assert turned_by(turns(ob), before) < 0.1
