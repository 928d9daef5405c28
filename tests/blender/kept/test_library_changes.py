"""Keys and drivers of overrides that stay with their chains when the library changes its list."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import bpy
import pytest

from blender_ik_addon.rig.keying.library_changes import ChainRecord, find_new_indices
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import (
    INFLUENCES,
    activate,
    assign_action,
    key_chains,
    keyed,
    make_limbs,
    played,
    read_by,
    source_of,
    strip_of,
)
from tests.blender.setups.saved_rigs import link_saved, reopen
from tests.blender.setups.selecting import press

remove = bpy.ops.pose.chain_ik_remove
OWN = {"Own": 0.5}

needs_import_events = pytest.mark.skipif(
    not hasattr(bpy.app.handlers, "blend_import_pre"), reason="Blender 4.2 reports no imports"
)


def add_chain(ob: bpy.types.Object, name: str) -> None:
    target = rigs.make_empty(f"{name} Target", (0.6, 0.5, 1.2))
    rigs.add_chain(ob, "Left.0", target, name=name)


def overrides() -> list[bpy.types.Object]:
    return [ob for ob in bpy.data.objects if ob.override_library and not ob.library and ob.pose]


def make_shot(folder: Path, count: int = 1) -> list[bpy.types.Object]:
    """Return overrides of a saved rig; the first has keys of all chains and of its own one."""
    make_limbs()
    (linked,) = link_saved(folder / "library.blend", "objects", "Rig")
    made = [rigs.link(linked.override_create()) for _ in range(count)]
    add_chain(made[0], "Own")
    key_chains(made[0], **INFLUENCES, **OWN)
    return made


def open_changed(folder: Path, *changes: Callable[[bpy.types.Object], object]) -> bpy.types.Object:
    """Save the shot, change the rig in the library, open the shot, and return its override."""
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    change_library(folder, *changes)
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
    return overrides()[0]


def change_library(folder: Path, *changes: Callable[[bpy.types.Object], object]) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(folder / "library.blend"))
    ob = bpy.data.objects["Rig"]
    for change in changes:
        activate(ob, 0)
        change(ob)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"))


def reopened(folder: Path) -> bpy.types.Object:
    """Save the shot and open it again; return its only override."""
    reopen(folder / "shot.blend")
    (ob,) = overrides()
    return ob


def open_before(folder: Path, change: Callable[[bpy.types.Object], object]) -> None:
    """Save the shot, and open it with the present library, which then changes on disk."""
    library, shot = folder / "library.blend", str(folder / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    present = library.read_bytes()
    change_library(folder, change)
    changed = library.read_bytes()
    library.write_bytes(present)
    bpy.ops.wm.open_mainfile(filepath=shot)
    library.write_bytes(changed)


def rename(ob: bpy.types.Object) -> None:
    ob.chain_ik.chains[0].name = "Renamed"


CHANGES = {
    "removed": [lambda ob: press(remove)],
    "all but one removed": [lambda ob: press(remove), lambda ob: press(remove)],
    "moved": [lambda ob: ob.chain_ik.chains.move(0, 2)],
    "added": [lambda ob: add_chain(ob, "New")],
    "renamed": [rename],
    "renamed and moved": [rename, lambda ob: ob.chain_ik.chains.move(0, 2)],
    "last removed and another added": [
        lambda ob: ob.chain_ik.chains.remove(2),
        lambda ob: add_chain(ob, "New"),
    ],
}


@pytest.mark.parametrize("place", ["active", "strip"])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_keys_stay_with_their_chains(changes, place, tmp_path):
    (ob,) = make_shot(tmp_path)
    if place == "strip":
        strip_of(ob)
    before = played(ob)
    assert before == INFLUENCES | OWN
    ob = open_changed(tmp_path, *changes)
    before["Renamed"] = before["Left"]
    names = [chain.name for chain in ob.chain_ik.chains if chain.name in before]
    assert len(names) >= 2
    assert "Own" in names
    for _ in range(3):
        now = played(ob)
        assert {name: now[name] for name in names} == {name: before[name] for name in names}
        ob = reopened(tmp_path)


def test_keys_of_a_removed_chain_have_no_effect_until_the_library_has_the_chain_again(
    tmp_path, caplog
):
    make_shot(tmp_path)
    ob = open_changed(tmp_path, lambda ob: press(remove))
    assert caplog.messages == [
        "'Rig': the chain 'Left' is gone from the library. Its keys and drivers stay without"
        " effect, under its name: delete them, or give the library this chain again."
    ]
    expected = {f"chain_ik.chains[{i}].influence": value for i, value in enumerate((1, 0.25, 0.5))}
    assert keyed(ob.animation_data.action) == {'chain_ik.chains["Left"].influence': 0.0} | expected
    ob = open_changed(tmp_path, lambda ob: add_chain(ob, "Left"))
    assert played(ob) == INFLUENCES | OWN
    assert '"' not in "".join(keyed(ob.animation_data.action))


def test_what_blender_drops_of_a_chain_that_the_library_renames_is_reported(tmp_path, caplog):
    (ob,) = make_shot(tmp_path)
    ob.chain_ik.chains[0].pole_angle = 0.5
    ob = open_changed(tmp_path, rename)
    assert ob.chain_ik.chains["Renamed"].pole_angle == 0.0
    assert caplog.messages == [
        "'Rig': the library has renamed the chain 'Left' to 'Renamed'. Its keys follow it, but"
        " Blender drops what else this file has changed of it: rename it back in the library before"
        " you save this file, or set it again."
    ]


def test_chains_of_the_shot_that_blender_loses_are_reported(tmp_path, caplog):
    """Blender inserts them after the last chain of the library, or copies others without it."""
    make_shot(tmp_path)
    ob = open_changed(tmp_path, lambda ob: ob.chain_ik.chains.remove(2))
    assert "Own" not in ob.chain_ik.chains
    assert caplog.messages[-1] == (
        "'Rig': Blender has lost chains that this file has added, because the library has removed"
        " the last chain before them. Close the file without saving it, and add that chain to the"
        " library again: it can be muted there."
    )
    influences = {chain.bone: chain.influence for chain in rigs.evaluated(ob).chain_ik.chains}
    assert influences == {"Left.1": 0.0, "Right.1": 1.0}
    change_library(tmp_path, lambda ob: rigs.add_chain(ob, "Tail.1", ob, name="Tail"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    assert played(overrides()[0]) == INFLUENCES | OWN


def test_drivers_and_keying_sets_of_the_shot_follow_too(tmp_path):
    (ob,) = make_shot(tmp_path)
    read_by(ob, "chain_ik.chains[1].weight", ob, 'pose.bones["Left.0"].location[0]')
    reader = rigs.make_empty("Reader")
    for axis, index in enumerate((0, 2)):
        read_by(reader, "location", ob, f"chain_ik.chains[{index}].influence", axis)
    paths = bpy.context.scene.keying_sets.new(idname="Set", name="Set").paths
    paths.add(ob, "chain_ik.chains[2].influence")
    ob = open_changed(tmp_path, lambda ob: press(remove))
    assert [curve.data_path for curve in ob.animation_data.drivers] == ["chain_ik.chains[0].weight"]
    sources = [source_of(curve) for curve in bpy.data.objects["Reader"].animation_data.drivers]
    assert sources == ['chain_ik.chains["Left"].influence', "chain_ik.chains[1].influence"]
    (path,) = bpy.context.scene.keying_sets["Set"].paths
    assert path.data_path == "chain_ik.chains[1].influence"


def test_what_the_library_animates_itself_follows_there_alone(tmp_path):
    ob = make_limbs()
    read_by(ob, "chain_ik.chains[2].weight", ob, 'pose.bones["Left.0"].location[0]')
    key_chains(ob)
    (linked,) = link_saved(tmp_path / "library.blend", "objects", "Rig")
    ob = rigs.link(linked.override_create())
    ob = open_changed(tmp_path, lambda ob: press(remove))
    assert [curve.data_path for curve in ob.animation_data.drivers] == ["chain_ik.chains[1].weight"]
    assert played(ob) == {"Right": 1.0, "Tail": 0.25}


def test_overrides_that_share_an_action_move_its_keys_once(tmp_path):
    first, second = make_shot(tmp_path, count=2)
    add_chain(second, "Own")
    assign_action(second, first.animation_data.action)
    open_changed(tmp_path, lambda ob: press(remove))
    expected = {name: value for name, value in (INFLUENCES | OWN).items() if name != "Left"}
    for ob in overrides():
        assert played(ob) == expected


def share_with_local(ob: bpy.types.Object) -> str:
    assign_action(make_limbs("Other"), ob.animation_data.action)
    return (
        "The action 'RigAction' also animates 'Other', so its keys cannot follow the chains of only"
        " one of them: give each its own action first."
    )


def use_linked(ob: bpy.types.Object) -> str:
    """Give an override a linked action in place of its own."""
    path = Path(bpy.app.tempdir) / "actions.blend"
    bpy.data.libraries.write(str(path), {ob.animation_data.action})
    bpy.data.actions.remove(ob.animation_data.action)
    with bpy.data.libraries.load(str(path), link=True) as (_available, loaded):
        loaded.actions = ["RigAction"]
    assign_action(ob, loaded.actions[0])
    return (
        "The action 'RigAction' is linked, so its keys cannot follow the chains: make it local"
        " first."
    )


@pytest.mark.parametrize("prevent", [share_with_local, use_linked])
def test_keys_that_cannot_follow_stay_and_a_warning_says_which_chains_they_act_on(
    prevent, tmp_path, caplog
):
    (ob,) = make_shot(tmp_path)
    reason = prevent(ob)
    keys = keyed(ob.animation_data.action)
    ob = open_changed(tmp_path, lambda ob: press(remove))
    assert caplog.messages == [
        f"'Rig': the library has changed its list of chains. {reason} Check its keys, which may act"
        " on other chains now: 'Left' -> 'Right', 'Right' -> 'Tail', 'Tail' -> 'Own',"
        " 'Own' -> none."
    ]
    assert keyed(ob.animation_data.action) == keys


@contextmanager
def no_save_events():
    """Save in the block as Auto Save does: without handlers."""
    handlers = bpy.app.handlers.save_pre[:]
    bpy.app.handlers.save_pre.clear()
    try:
        yield
    finally:
        bpy.app.handlers.save_pre.extend(handlers)


def test_files_that_are_saved_without_events_keep_keys_with_their_chains(tmp_path):
    (ob,) = make_shot(tmp_path)
    add_chain(ob, "Second")
    key_chains(ob, Second=0.75)
    ob = open_changed(tmp_path, lambda ob: press(remove))
    expected = {"Right": 1.0, "Tail": 0.25, "Own": 0.5, "Second": 0.75}
    with no_save_events():
        ob = reopened(tmp_path)
        assert played(ob) == expected
        activate(ob, 2)
        press(remove)
        add_chain(ob, "Third")
        key_chains(ob, Third=0.125)
        ob = reopened(tmp_path)
    del expected["Own"]
    assert played(ob) == expected | {"Third": 0.125}


def test_a_file_without_a_record_plays_as_it_is(tmp_path, caplog):
    (ob,) = make_shot(tmp_path)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    for text in ("", "[", "[1]", '[1, [["Left", 5]]]', '[0, [["Left", "Left.1"]]]'):
        ob.chain_ik.seen_chains = text
        with no_save_events():
            ob = reopened(tmp_path)
        assert played(ob) == INFLUENCES | OWN
    assert not caplog.records
    # A record of an override of this override would equal its library's, and not be saved.
    assert not ob.override_library.reference.chain_ik.seen_chains


def test_overrides_of_overrides_follow_as_well(tmp_path):
    make_shot(tmp_path)
    (linked,) = link_saved(tmp_path / "middle.blend", "objects", "Rig")
    ob = rigs.link(linked.override_create())
    ob.animation_data.action = None
    influences = {"Left": 0.875, "Right": 0.75, "Tail": 0.625, "Own": 0.375}
    key_chains(ob, **influences)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    change_library(tmp_path, lambda ob: press(remove))
    # Whether the file between was saved since or not.
    for is_saved in (False, True):
        if is_saved:
            bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "middle.blend"))
            reopen(tmp_path / "middle.blend")
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        ob = overrides()[0]
        assert played(ob) == {name: influences[name] for name in ("Right", "Tail", "Own")}


@needs_import_events
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_shot_from_another_file_follows_too(is_linked, tmp_path, caplog):
    make_shot(tmp_path)
    open_changed(tmp_path, lambda ob: ob.chain_ik.chains.move(0, 2))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "shot.blend"), link=is_linked) as (_, loaded):
        loaded.objects = ["Rig"]
    (ob,) = loaded.objects
    assert played(rigs.link(ob)) == INFLUENCES | OWN
    # Keys of linked objects follow once, whatever is linked later.
    with bpy.data.libraries.load(str(tmp_path / "shot.blend"), link=True) as (_, loaded):
        loaded.scenes = ["Scene"]
    assert played(ob) == INFLUENCES | OWN
    assert not caplog.records


@needs_import_events
def test_keys_follow_when_the_library_is_reloaded(tmp_path):
    make_shot(tmp_path)
    open_before(tmp_path, lambda ob: press(remove))
    add_chain(overrides()[0], "Second")
    key_chains(overrides()[0], Second=0.75)
    bpy.data.libraries[0].reload()
    expected = {"Right": 1.0, "Tail": 0.25, "Own": 0.5, "Second": 0.75}
    assert played(overrides()[0]) == expected


@pytest.mark.parametrize(
    ("former", "present", "expected"),
    [
        ("Aa Bb", "Bb Aa", [1, 0]),
        ("Aa Bb", "Bb", [None, 0]),
        ("Aa Bb", "Cb Aa", [1, 0]),
        ("Aa Bb", "Ab Bb", [0, 1]),
        ("Aa Bb", "Ba Ab", [1, 0]),
        ("Aa Ab", "Ab Aa", [1, 0]),
        ("Aa Ba", "Ba Ca", [1, 0]),
        ("A B", "C B", [None, 1]),
    ],
)
def test_chains_are_found_by_name_and_then_by_tip(former, present, expected):
    """Each chain is written as a letter for its name and one for its tip."""
    lists = [
        [ChainRecord(text[0], text[1:]) for text in names.split()] for names in (former, present)
    ]
    assert find_new_indices(*lists) == expected
