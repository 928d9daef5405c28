"""Promise 8: register, unregister, register again, and nothing is left behind, nor memory grows.

The short runs are the same as the long ones with fewer repetitions. Python counts its own blocks of
memory exactly; what Blender and NumPy hold shows in the memory of the process.
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
from tests.blender.live.traces import KINDS_IN_USE, left_behind, list_traces
from tests.blender.overlay.viewports import in_viewport, strokes
from tests.blender.setups import rigs

PACKAGE = blender_ik_addon.__name__


def hung_into_blender() -> dict[str, list[str]]:
    """Return everything of the add-on that Blender would call or show, by kind."""
    return {
        kind: [name for name in names if PACKAGE in name or "chain_ik" in name]
        for kind, names in list_traces().items()
    }


def test_unregistering_leaves_and_remembers_nothing_and_registering_again_gives_the_same():
    before = hung_into_blender()
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
        assert not any(hung_into_blender().values()), hung_into_blender()
        assert not cli._registered
        assert not [name for name in dir(bpy.ops.pose) if name.startswith("chain_ik")]
        blender_ik_addon.register()
        assert hung_into_blender() == before
    target.location = (-0.5, 0.4, 1.0)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


STATM = Path("/proc/self/statm")
STRETCHES, MOST_STRETCHES = 5, 15
# NumPy keeps small pieces of memory for later, fewer and fewer new ones at a time, and for longer
# after many other tests. A leak takes some in every stretch, so the best of them counts.
LOOSE_BLOCKS, LOOSE_BLOCKS_OF_CLASSES, LOOSE_BLOCKS_OF_UPDATES = 60, 400, 20
LOOSE_BLOCKS_EACH = 0.05
"""Python's blocks, and how many more a repetition: one kept by every third update is too much."""
LOOSE_MEMORY = 3.0
"""Mebibytes of the process over all stretches: the allocator gives back late."""


def cycles(short: int, long: int) -> pytest.MarkDecorator:
    """Run a test with a few repetitions, and, where all is asked for, with many."""
    many = pytest.param(long, marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("times", [short, many])


def resident_memory() -> float:
    """Return mebibytes: what the process holds now, or where that is unknown held at most."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def check_flat(act: Callable[[int], None], times: int, loose: int = LOOSE_BLOCKS) -> None:
    """Do something again and again, and check that no more and more memory is held."""
    for number in range(times // 5 + 5):
        act(number)
    blocks, memory = [], []
    each = times // STRETCHES
    most = loose + LOOSE_BLOCKS_EACH * each
    grown: list[int] = []
    while len(grown) < STRETCHES or (min(grown) > most and len(grown) < MOST_STRETCHES):
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        memory.append(resident_memory())
        grown = np.diff(blocks).tolist()
        for number in range(each):
            act(number)
    figures = f"{len(grown)} times {each}: blocks {grown}, {memory[-1] - memory[0]:.2f} MiB"
    print(figures)
    assert min(grown) <= most, figures
    assert memory[-1] - memory[0] <= LOOSE_MEMORY, figures


@pytest.mark.slow
@pytest.mark.oldest
@cycles(10, 50)
def test_registering_again_and_again_leaves_nothing(times):
    def act(number: int) -> None:
        blender_ik_addon.register()
        rigs.make_arm(name=f"Rig {number}")
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        blender_ik_addon.unregister()

    blender_ik_addon.unregister()
    before = list_traces()
    check_flat(act, times, LOOSE_BLOCKS_OF_CLASSES)
    assert left_behind(before, list_traces()) == {}
    blender_ik_addon.register()


def make_arm_and_rope() -> tuple[bpy.types.Object, bpy.types.Object]:
    ob, target = rigs.make_arm()
    rigs.add_chain(rigs.make_rig(rigs.zigzag(5), name="Rope"), "Bone.4", target, solver="NEWTON")
    return ob, target


@pytest.mark.slow
@pytest.mark.oldest
@cycles(400, 10_000)
def test_updates_hold_on_to_nothing(times):
    ob, target = make_arm_and_rope()
    elbow = ob.pose.bones["Bone.1"]
    elbow.use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    before = list_traces()

    def act(number: int) -> None:
        target.location = (0.6, 0.5 - 0.01 * (number % 40), 1.2)
        # Never the same limit twice: the overlay is not to keep all that it has drawn.
        rigs.change(elbow, ik_max_x=2.0 + 1e-5 * number)
        if number % 10 == 0:
            bpy.context.scene.frame_set(1 + number % 50)
        assert strokes().areas.points

    with in_viewport():
        check_flat(act, times, LOOSE_BLOCKS_OF_UPDATES)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    assert left_behind(before, list_traces()) == {}


@pytest.mark.slow
@pytest.mark.oldest
@cycles(50, 1000)
def test_opening_files_holds_on_to_nothing(times, tmp_path):
    make_arm_and_rope()
    file = str(tmp_path / "chains.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    before = list_traces()

    def act(number: int) -> None:
        bpy.ops.wm.open_mainfile(filepath=file)
        rigs.change(bpy.data.objects["Rig Target"].location, z=1.0 + 0.01 * (number % 40))

    check_flat(act, times)
    rigs.assert_reaches(
        bpy.data.objects["Rig"], "Bone.1", bpy.data.objects["Rig Target"], rigs.updated()
    )
    assert left_behind(before, list_traces()) == {}
