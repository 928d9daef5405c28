"""Tooltips, and the documentation pages that show properties, operators and printed output."""

import contextlib
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import bpy

from blender_ik_addon.preferences.addon import ChainPreferences
from tests.blender.setups import rigs

# Properties that Blender adds to all groups and operators, or that no panel shows.
NEVER_SHOWN = {"rna_type", "filter_glob", "check_existing", "bl_idname"}
# The unit that a tooltip names, by the subtype of the number.
UNITS = {
    "ANGLE": "degrees",
    "DISTANCE": "scene units",
    "TRANSLATION": "scene units",
    "TIME_ABSOLUTE": "seconds",
    "FACTOR": "0",
}
# Words of which the tooltip of a number without a unit has one: what it counts, or "no unit".
COUNTED = (
    *("bones", "iterations", "frame", "the list", "version"),
    *("radians", "scene units", "pixels", "no unit"),
)


def operators() -> list[bpy.types.Struct]:
    """Return the RNA types of the extension's operators."""
    return [
        getattr(getattr(bpy.ops, module), name).get_rna_type()
        for module in ("pose", "object")
        for name in dir(getattr(bpy.ops, module))
        if "chain_ik" in name
    ]


def groups() -> Iterator[bpy.types.Struct]:
    """Yield the RNA types of the extension's groups of settings, each once."""
    waiting = [
        owner.bl_rna.properties["chain_ik"].fixed_type
        for owner in (bpy.types.Object, bpy.types.Scene)
    ]
    waiting.append(ChainPreferences.bl_rna)
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


def settings() -> dict[str, bpy.types.Property]:
    """Return the settings of all groups and operators, by "group.setting"."""
    return {
        f"{group.identifier}.{setting.identifier}": setting
        for group in (*groups(), *operators())
        for setting in group.properties
        if setting.identifier not in NEVER_SHOWN
    }


def choices() -> dict[str, bpy.types.EnumPropertyItem]:
    """Return the items of all enum settings, by "group.setting.item"."""
    return {
        f"{name}.{item.identifier}": item
        for name, setting in settings().items()
        if setting.type == "ENUM"
        for item in setting.enum_items
    }


def test_every_tooltip_is_one_paragraph_that_says_more_than_its_label():
    shown = {operator.identifier: operator for operator in operators()} | settings() | choices()
    expected = {"POSE_OT_chain_ik_add", "ChainSettings.solver.NEWTON", "SceneSettings.use_live"}
    expected |= {"ChainPreferences.log_level", "ChainPreferences.pole.NEVER", "ForceSettings.ease"}
    assert expected | {"JointSettings.min_x", "ObjectSettings.chains"} <= shown.keys()
    for name, rna in shown.items():
        text = rna.description
        assert text == " ".join(text.split()), name
        assert text[:1].isupper(), name
        assert not text.endswith("."), name
        # Blender shows the default on a right click, and the reference lists it.
        assert "default" not in text.lower(), name
    for name, rna in settings().items():
        assert len(rna.description.split()) >= 3, name
        assert rna.description.lower() != rna.name.lower(), name


def test_every_number_names_its_unit_and_is_shown_with_it():
    numbers = {
        name: setting
        for name, setting in settings().items()
        if setting.type in ("INT", "FLOAT") and not setting.subtype.startswith("COLOR")
    }
    assert len(numbers) > 40
    for name, setting in numbers.items():
        tooltip = setting.description.lower()
        words = (UNITS[setting.subtype],) if setting.subtype in UNITS else COUNTED
        assert any(word in tooltip for word in words), name
        for unit, kinds in (
            ("degrees", {"ANGLE"}),
            ("scene units", {"DISTANCE", "TRANSLATION"}),
            ("seconds", {"TIME_ABSOLUTE"}),
        ):
            assert f"in {unit}" not in tooltip or setting.subtype in kinds, name


def test_no_two_settings_of_a_group_have_one_label():
    for group in groups():
        labels = [
            s.name
            for s in group.properties
            if s.identifier not in ("rna_type", "name", "bl_idname")
        ]
        assert len(labels) == len(set(labels)), group.identifier


ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "scripting.md"
# A block of Python, and the output that the page shows below it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
ARM = ((0.0, 0.0, 1.0), (0.5, 0.05, 1.0), (1.0, 0.0, 1.0), (1.2, 0.0, 1.0))
NAMES = ("upper_arm", "forearm", "hand")


def test_examples_of_the_page_print_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python") >= 6
    rigs.make_rig(ARM, names=NAMES)
    rigs.make_empty(location=(0.4, 0.3, 1.3))
    rigs.updated()
    names: dict[str, object] = {}
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), names)
        assert expected, f"this example prints nothing that could be checked:\n{code}"
        lines = printed.getvalue().splitlines()
        # Blender prints the reports of operators as well.
        lines = [line for line in lines if not line.startswith(("Info: ", "Error: "))]
        assert lines == expected.splitlines(), code


def test_the_page_of_properties_and_operators_is_up_to_date(scripts):
    module = importlib.import_module("docs_reference")
    written = module.PAGE.read_text(encoding="utf-8").splitlines()
    assert module.make_page().splitlines() == written, "run python3 scripts/docs_reference.py"
