"""What Blender does not save, or not as it was: checks of files that were loaded leave it out."""

from __future__ import annotations

import os

import bpy

from tests.blender.edits.random_checks import drivers_of, hanging_on


def save_and_load(folder: str) -> None:
    path = os.path.join(folder, "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


def with_other_modes() -> set[str]:
    """Return the armature objects that hang on overrides whose bones have other rotation modes.

    When Blender loads such an override it sets the mode once more, which turns what the bone was
    set to before anew, a digit off.
    """
    return hanging_on(_has_other_modes)


def _has_other_modes(ob: bpy.types.Object) -> bool:
    """Tell whether an override gives a bone another rotation mode than its library does."""
    modes = [{b.name: b.rotation_mode for b in each.pose.bones} for each in _with_reference(ob)]
    return len(modes) > 1 and modes[0] != modes[1]


def with_unsaved() -> set[str]:
    """Return the armature objects that hang on what Blender does not save, or only a part of.

    It saves nothing that only constraints and drivers use. Of an override it saves no drivers that
    it has been given where the library has animation, and no poses of bones that are others than in
    the library, as of another armature.
    """
    return hanging_on(lambda ob: not ob.users or _is_saved_in_part(ob))


def _is_saved_in_part(ob: bpy.types.Object) -> bool:
    if len(both := _with_reference(ob)) < 2:
        return False
    bones = [[bone.name for bone in each.pose.bones] for each in both]
    driven = [{(d.data_path, d.array_index) for d in drivers_of(each)} for each in both]
    return bones[0] != bones[1] or (both[1].animation_data and driven[0] != driven[1])


def _with_reference(ob: bpy.types.Object) -> list[bpy.types.Object]:
    """Return an armature object and what it overrides, if that has a pose as well."""
    reference = ob.override_library.reference if ob.override_library else None
    return [ob, reference] if ob.pose and reference is not None and reference.pose else []
