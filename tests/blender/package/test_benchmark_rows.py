"""Benchmark rows for all properties of a chain and all values of its enums."""

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import bpy
import pytest

from blender_ik_addon.properties.forces import ForceSettings
from blender_ik_addon.properties.joints.joint_definitions import JointSettings
from blender_ik_addon.properties.settings import ChainSettings
from tests.blender.overlay.viewports import needs_gpu

ROOT = Path(__file__).resolve().parents[3]
GROUPS = {"": ChainSettings, "joints.": JointSettings, "force.": ForceSettings}

pytestmark = pytest.mark.usefixtures("scripts")


def find_needed() -> Iterator[str]:
    """Yield what needs a row: the properties, and for enums their values.

    A default value needs no row: all other rows have it.
    """
    for prefix, group in GROUPS.items():
        for definition in group.bl_rna.properties:
            if definition.type == "ENUM":
                values = {item.identifier for item in definition.enum_items} - {definition.default}
                yield from (f"{prefix}{definition.identifier}={value}" for value in values)
            elif definition.identifier != "rna_type":
                yield prefix + definition.identifier


def find_covered() -> Iterator[str]:
    """Yield the properties and enum values that rows set to values other than the defaults."""
    from benchmarks.setting_rows import ROWS

    for row in ROWS:
        for prefix, values in (("", row.chain), ("joints.", row.joint), ("force.", row.force)):
            for name, value in values.items():
                definition = GROUPS[prefix].bl_rna.properties.get(name)
                if definition is not None and definition.default != value:
                    yield prefix + (f"{name}={value}" if definition.type == "ENUM" else name)
        yield from ("pole_target", "pole_mode=TARGET") if row.has_pole else ()
        yield from ("subtarget",) if "handles" in row.rig else ()
        yield from ("pole_subtarget",) if "pole bones" in row.rig else ()


def test_every_property_has_a_row_or_a_reason_to_have_none():
    from benchmarks.setting_rows import NO_ROW

    needed, rows = set(find_needed()), set(find_covered())
    assert {"influence", "solver=CCD", "joints.kind=CONE", "force.ease"} <= needed
    missing = needed - rows - NO_ROW.keys()
    assert not missing, f"give them a row, or a reason, in setting_rows: {sorted(missing)}"
    assert not rows & NO_ROW.keys()
    assert all(NO_ROW.values())


# Pages and their groups. The first two share their processes.
PAGE_GROUPS = (
    ("limits", "finger: NEWTON, 1 limb"),
    ("settings", "start from REST, one of four bones"),
    ("settings", "redraw 1 x 20 x 2"),
    ("settings", "human, one dragged, x without spaces"),
    ("table", "1 x 4 x 2"),
)


def find_rows(pages: ModuleType, page: str, group: str) -> list[object]:
    """Return the rows of a group; only the most useful ones if it would start many processes."""
    rows = [row for row in pages.PAGES[page][-1] if row.group == group]
    if page == "table":
        return [row for row in rows if "floor" in row.other.process]
    return [dataclasses.replace(rows[0], other=None)] if "human" in group else rows


@needs_gpu
@pytest.mark.slow
@pytest.mark.skipif(bool(bpy.app.binary_path), reason="workers need a Python that imports bpy")
def test_rows_of_all_pages_are_measured_from_end_to_end(tmp_path):
    from benchmarks import measuring, pages, workers

    def start(program, *arguments):
        """Start a worker with this Python, without an installation."""
        command = [sys.executable, "-m", f"benchmarks.{program}", *arguments]
        path = os.pathsep.join((str(ROOT / "scripts"), str(ROOT)))
        variables = {"PYTHONPATH": path, "BLENDER_USER_RESOURCES": str(tmp_path)}
        return workers.Worker(program, command, {**os.environ, **variables})

    rows = [row for page, group in PAGE_GROUPS for row in find_rows(pages, page, group)]
    assert len(rows) == 6
    results = list(measuring.measure(rows, start, 1))
    for result in results:
        assert result.reason == ""
        assert 0.0 < result.value < 1e5
        assert result.ours.facts.get("reached", 1.0) == 1.0
    assert len({result.row.ours.task for result in results}) >= 3
    text = measuring.make_page(results, "")
    assert all(result.row.name in text for result in results)
