"""Promise 8: registering and unregistering again and again leaves nothing, and no memory grows.

Short tests differ from long ones only in the repetitions. Python counts its own memory blocks
exactly; the memory of Blender and NumPy shows in that of the process.
"""

import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

import blender_ik_addon
from blender_ik_addon import active_chain, cli
from blender_ik_addon.overlay.overlay_cache import cache
from blender_ik_addon.properties.status import LOST_HANDLERS, residual
from tests.blender.live.traces import KINDS_IN_USE, find_added, list_traces
from tests.blender.overlay.viewports import in_viewport, strokes
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import read_by

PACKAGE = blender_ik_addon.__name__


def list_addon_traces() -> dict[str, list[str]]:
    """Return the names of everything of the add-on that is registered in Blender, by kind."""
    return {
        kind: [name for name in names if PACKAGE in name or "chain_ik" in name]
        for kind, names in list_traces().items()
    }


def test_unregistering_leaves_and_remembers_nothing_and_registering_again_gives_the_same():
    before = list_addon_traces()
    for kind in KINDS_IN_USE:
        assert before[kind], f"no {kind} seen: this test would not see what is left"
    ob, target = rigs.make_arm()
    rigs.enter(ob, "POSE")
    rigs.updated()
    cache.names[0, ""] = ()
    remembered = (active_chain._active_bones, active_chain._active_objects, cache.names)
    assert all(remembered)
    for _ in range(2):
        assert len(cli._registered) == 1
        blender_ik_addon.unregister()
        assert not any(remembered)
        assert not any(list_addon_traces().values()), list_addon_traces()
        assert not cli._registered
        assert not [name for name in dir(bpy.ops.pose) if name.startswith("chain_ik")]
        blender_ik_addon.register()
        assert list_addon_traces() == before
    target.location = (-0.5, 0.4, 1.0)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


@pytest.mark.parametrize("event", ["frame_change_post", "depsgraph_update_post"])
def test_the_status_says_if_a_script_has_removed_handlers_until_the_extension_is_enabled_again(
    event,
):
    ob, target = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    getattr(bpy.app.handlers, event).clear()
    try:
        assert chain.status == LOST_HANDLERS
        assert residual(chain) == -1.0
    finally:
        blender_ik_addon.unregister()
        blender_ik_addon.register()
    target.location = (-0.5, 0.4, 1.0)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    rigs.assert_reaches(ob, "Bone.1", target, rigs.go_to(5))
    assert ob.chain_ik.chains[0].status.startswith("Reached")


def test_a_script_may_remove_what_comes_before_frames():
    ob, target = rigs.make_arm()
    bpy.app.handlers.frame_change_pre.clear()
    try:
        target.location = (-0.5, 0.4, 1.0)
        rigs.assert_reaches(ob, "Bone.1", target, rigs.go_to(5))
        assert ob.chain_ik.chains[0].status.startswith("Reached")
    finally:
        blender_ik_addon.unregister()
        blender_ik_addon.register()


@pytest.mark.parametrize("is_opened", [False, True])
@pytest.mark.parametrize("has_frame", [True, False])
def test_drivers_of_settings_act_again_after_the_extension_was_off(has_frame, is_opened, tmp_path):
    """Blender stops drivers whose setting it does not find."""
    ob, _target = rigs.make_arm()
    fader, reader = rigs.make_empty("Fader"), rigs.make_empty("Reader")
    rigs.key(fader, "location", {1: (0, 0, 0), 11: (1, 0, 0)})
    read_by(ob, "chain_ik.chains[0].influence", fader, "location[0]")
    read_by(reader, "delta_location", ob, "chain_ik.chains[0].influence", 0)
    read_by(reader, "delta_location", ob, "nothing", 1)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "driven.blend"))
    blender_ik_addon.unregister()
    if is_opened:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "driven.blend"))
    rigs.go_to(3)
    ob, fader, reader = (bpy.data.objects[name] for name in ("Rig", "Fader", "Reader"))
    blender_ik_addon.register()
    if has_frame:
        rigs.go_to(11)
    else:
        rigs.change(fader, location=(1.0, 0.0, 0.0))
    assert rigs.evaluated(ob).chain_ik.chains[0].influence == 1.0
    assert rigs.evaluated(reader).delta_location.x == 1.0
    rigs.assert_reaches(ob, "Bone.1", bpy.data.objects["Rig Target"], rigs.updated())
    is_valid = [curve.driver.is_valid for curve in reader.animation_data.drivers]
    # Another reason has stopped the last driver.
    assert is_valid == [True, False]


STATM = Path("/proc/self/statm")
MIN_RUNS, MAX_RUNS = 5, 15
# NumPy caches small pieces of memory: fewer new ones in each run, and for longer after many other
# tests. A leak takes some in every run, so the run with the smallest growth counts.
MAX_BLOCKS, MAX_BLOCKS_OF_CLASSES, MAX_BLOCKS_OF_UPDATES = 60, 400, 20
MAX_BLOCKS_PER_REPETITION = 0.05
"""Blocks allowed per run, and more per repetition: one kept by every third update is too many."""
MAX_MEMORY = 3.0
"""Mebibytes that the process may grow over all runs: the allocator frees memory late."""


def repeat_times(short: int, long: int) -> pytest.MarkDecorator:
    """Run a test with some repetitions; exhaustive runs also use many."""
    many = pytest.param(long, marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("times", [short, many])


def read_resident_memory() -> float:
    """Return the memory of the process in mebibytes; its peak, if the present one is unknown."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def assert_no_growth(act: Callable[[int], None], times: int, allowed: int = MAX_BLOCKS) -> None:
    """Repeat an action, and check that the memory in use stops growing."""
    for number in range(times // 5 + 5):
        act(number)
    blocks, memory = [], []
    count = times // MIN_RUNS
    max_blocks = allowed + MAX_BLOCKS_PER_REPETITION * count
    growth: list[int] = []
    while len(growth) < MIN_RUNS or (min(growth) > max_blocks and len(growth) < MAX_RUNS):
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        memory.append(read_resident_memory())
        growth = np.diff(blocks).tolist()
        for number in range(count):
            act(number)
    figures = f"{len(growth)} times {count}: blocks {growth}, {memory[-1] - memory[0]:.2f} MiB"
    print(figures)
    assert min(growth) <= max_blocks, figures
    assert memory[-1] - memory[0] <= MAX_MEMORY, figures


@pytest.mark.slow
@pytest.mark.oldest
@repeat_times(10, 50)
def test_registering_again_and_again_leaves_nothing(times):
    def act(number: int) -> None:
        blender_ik_addon.register()
        rigs.make_arm(name=f"Rig {number}")
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        blender_ik_addon.unregister()

    blender_ik_addon.unregister()
    before = list_traces()
    assert_no_growth(act, times, MAX_BLOCKS_OF_CLASSES)
    assert find_added(before, list_traces()) == {}
    blender_ik_addon.register()


def make_arm_and_rope() -> tuple[bpy.types.Object, bpy.types.Object]:
    ob, target = rigs.make_arm()
    rigs.add_chain(rigs.make_rig(rigs.zigzag(5), name="Rope"), "Bone.4", target, solver="NEWTON")
    return ob, target


@pytest.mark.slow
@pytest.mark.oldest
@repeat_times(400, 10_000)
def test_updates_hold_on_to_nothing(times):
    ob, target = make_arm_and_rope()
    elbow = ob.pose.bones["Bone.1"]
    elbow.use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    before = list_traces()

    def act(number: int) -> None:
        target.location = (0.6, 0.5 - 0.01 * (number % 40), 1.2)
        # The limit differs each time: the overlay must not keep everything that it has drawn.
        rigs.change(elbow, ik_max_x=2.0 + 1e-5 * number)
        if number % 10 == 0:
            bpy.context.scene.frame_set(1 + number % 50)
        assert strokes().areas.points

    with in_viewport():
        assert_no_growth(act, times, MAX_BLOCKS_OF_UPDATES)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    assert find_added(before, list_traces()) == {}


@pytest.mark.slow
@pytest.mark.oldest
@repeat_times(50, 1000)
def test_opening_files_holds_on_to_nothing(times, tmp_path):
    make_arm_and_rope()
    file = str(tmp_path / "chains.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    before = list_traces()

    def act(number: int) -> None:
        bpy.ops.wm.open_mainfile(filepath=file)
        rigs.change(bpy.data.objects["Rig Target"].location, z=1.0 + 0.01 * (number % 40))

    assert_no_growth(act, times)
    rigs.assert_reaches(
        bpy.data.objects["Rig"], "Bone.1", bpy.data.objects["Rig Target"], rigs.updated()
    )
    assert find_added(before, list_traces()) == {}
