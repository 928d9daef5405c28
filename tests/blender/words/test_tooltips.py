"""Tooltips: Blender shows descriptions as they are, and adds the full stop at the end itself."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from blender_ik_addon import preferences

# What Blender gives to all groups and operators, and what is never shown.
NEVER_SHOWN = {"rna_type", "filter_glob", "check_existing", "bl_idname"}
# The word for the unit of a number, by its subtype.
UNITS = {
    "ANGLE": "degrees",
    "DISTANCE": "scene units",
    "TRANSLATION": "scene units",
    "TIME_ABSOLUTE": "seconds",
    "FACTOR": "0",
}
# Of numbers that Blender shows without a unit: what they count, or that they have none.
COUNTED = (
    "bones",
    "iterations",
    "frame",
    "the list",
    "version",
    "radians",
    "scene units",
    "pixels",
    "no unit",
)


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
        for owner in (bpy.types.Object, bpy.types.Scene)
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
    wanted |= {"ChainPreferences.log_level", "ChainPreferences.pole.NEVER"}
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


def test_every_setting_has_a_tooltip_that_says_more_than_its_label():
    wrong = {
        f"{group.identifier}.{setting.identifier}": setting.description
        for group in (*groups(), *operators())
        for setting in group.properties
        if setting.identifier not in NEVER_SHOWN
        and (
            len(setting.description.split()) < 3
            or setting.description.lower() == setting.name.lower()
        )
    }
    assert not wrong


def test_every_choice_has_a_tooltip():
    wrong = [
        f"{group.identifier}.{setting.identifier}.{item.identifier}"
        for group in (*groups(), *operators())
        for setting in group.properties
        if setting.type == "ENUM"
        for item in setting.enum_items
        if not item.description
    ]
    assert not wrong


def numbers() -> dict[str, bpy.types.Property]:
    """Return all settings that are numbers, by what they are called."""
    return {
        f"{group.identifier}.{setting.identifier}": setting
        for group in (*groups(), *operators())
        for setting in group.properties
        if setting.type in ("INT", "FLOAT") and not setting.subtype.startswith("COLOR")
    }


def test_all_numbers_are_looked_at():
    wanted = {"ChainSettings.soft_distance", "JointSettings.min_x", "POSE_OT_chain_ik_bake.step"}
    assert wanted <= numbers().keys()
    assert len(numbers()) > 40


def test_every_number_names_its_unit():
    wrong = {}
    for name, setting in numbers().items():
        words = (UNITS[setting.subtype],) if setting.subtype in UNITS else COUNTED
        if not any(word in setting.description.lower() for word in words):
            wrong[name] = setting.description
    assert not wrong


# A right click on a field has Blender say what it resets to, and the reference has a column of it.
def test_no_tooltip_tells_a_default_that_blender_knows_itself():
    assert not {name: text for name, text in tooltips().items() if "default" in text.lower()}


def test_what_has_a_length_or_an_angle_is_shown_with_its_unit():
    for name, setting in numbers().items():
        says = setting.description.lower()
        if "in degrees" in says:
            assert setting.subtype == "ANGLE", name
        if "in scene units" in says:
            assert setting.subtype in {"DISTANCE", "TRANSLATION"}, name
        if "in seconds" in says:
            assert setting.subtype == "TIME_ABSOLUTE", name


# Those that chains had in files and scripts before their labels changed.
KEPT = {
    "ChainSettings.negative_scale": {"MIRROR", "KEEP"},
    "ChainSettings.rotation_bone": {"TIP", "AUTO"},
    "ChainSettings.start_from": {"KEYED", "REST", "CURRENT"},
    "ChainSettings.follow_lead": {"TIP", "ROOT"},
    "JointSettings.relative_to": {"REST", "PARENT", "CHILD"},
}


def test_labels_say_what_is_set_while_files_and_scripts_keep_their_identifiers():
    found = {
        f"{group.identifier}.{setting.identifier}": {i.identifier: i.name for i in items}
        for group in groups()
        for setting in group.properties
        if setting.type == "ENUM" and (items := setting.enum_items)
    }
    assert {name: set(found[name]) for name in KEPT} == KEPT
    assert found["ChainSettings.negative_scale"] == {"MIRROR": "Mirror Bend", "KEEP": "Keep Bend"}


def test_no_two_settings_of_a_group_have_one_label():
    for group in groups():
        labels = [
            s.name
            for s in group.properties
            if s.identifier not in ("rna_type", "name", "bl_idname")
        ]
        assert len(labels) == len(set(labels)), group.identifier
