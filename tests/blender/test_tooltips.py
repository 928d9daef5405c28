"""Tooltips: Blender shows descriptions as they are, and adds the full stop at the end itself."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from blender_ik_addon import preferences

# What Blender gives to all groups and operators, and what is never shown.
NEVER_SHOWN = {"rna_type", "filter_glob", "check_existing"}


def operators() -> list[bpy.types.Struct]:
    """Return what Blender knows of the extension's operators."""
    found = [
        getattr(getattr(bpy.ops, module), name).get_rna_type()
        for module in ("pose", "object")
        for name in dir(getattr(bpy.ops, module))
        if "chain_ik" in name
    ]
    assert len(found) > 10
    return found


def groups() -> Iterator[bpy.types.Struct]:
    """Yield what Blender knows of the extension's settings, each group once."""
    waiting = [
        owner.bl_rna.properties["chain_ik"].fixed_type
        for owner in (bpy.types.Object, bpy.types.Scene, bpy.types.WindowManager)
    ]
    waiting.append(preferences.ChainPreferences.bl_rna)
    seen = set()
    while waiting:
        group = waiting.pop()
        if group.identifier in seen:
            continue
        seen.add(group.identifier)
        yield group
        waiting += [
            setting.fixed_type
            for setting in group.properties
            if setting.type in ("POINTER", "COLLECTION")
            and setting.fixed_type.base is not None
            and setting.fixed_type.base.identifier == "PropertyGroup"
        ]


def tooltips() -> dict[str, str]:
    """Return all descriptions by what they are for."""
    found = {}
    for group in (*operators(), *groups()):
        if group in operators():
            found[group.identifier] = group.description
        for setting in group.properties:
            name = f"{group.identifier}.{setting.identifier}"
            if setting.identifier not in NEVER_SHOWN:
                found[name] = setting.description
            if setting.type == "ENUM":
                found |= {f"{name}.{i.identifier}": i.description for i in setting.enum_items}
    return found


def test_all_operators_and_settings_are_looked_at():
    found = tooltips().keys()
    wanted = {"POSE_OT_chain_ik_add", "ChainSettings.solver.NEWTON", "SceneSettings.use_live"}
    wanted |= {"ComparedSolver.time", "ChainPreferences.log_level", "ChainPreferences.pole.NEVER"}
    assert wanted | {"ForceSettings.ease", "JointSettings.min_x", "ObjectSettings.chains"} <= found


def test_no_tooltip_ends_with_a_full_stop_of_its_own():
    wrong = {name: text for name, text in tooltips().items() if text.rstrip().endswith(".")}
    assert not wrong


def test_every_tooltip_is_one_paragraph():
    wrong = {
        name: text
        for name, text in tooltips().items()
        if text != " ".join(text.split()) or (text and not text[0].isupper())
    }
    assert not wrong


def test_every_operator_and_every_setting_of_one_has_a_tooltip():
    wrong = [name for name, text in tooltips().items() if "_OT_" in name and not text]
    assert not wrong
