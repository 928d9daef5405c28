"""Every property of a chain, and every value that it can have, has a row of the benchmark."""

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

ROOT = Path(__file__).resolve().parents[3]
GROUPS = {"": ChainSettings, "joints.": JointSettings, "force.": ForceSettings}

pytestmark = pytest.mark.usefixtures("scripts")


def things() -> Iterator[str]:
    """Yield what needs a row: properties, and the values of those that have some to choose.

    What is a default, all other rows have.
    """
    for prefix, group in GROUPS.items():
        for each in group.bl_rna.properties:
            if each.type == "ENUM":
                values = {item.identifier for item in each.enum_items} - {each.default}
                yield from (f"{prefix}{each.identifier}={value}" for value in values)
            elif each.identifier != "rna_type":
                yield prefix + each.identifier


def covered() -> Iterator[str]:
    """Yield what rows set to other values than the defaults."""
    from benchmarks.setting_rows import ROWS

    for row in ROWS:
        for prefix, values in (("", row.chain), ("joints.", row.joint), ("force.", row.force)):
            for name, value in values.items():
                each = GROUPS[prefix].bl_rna.properties.get(name)
                if each is not None and each.default != value:
                    yield prefix + (f"{name}={value}" if each.type == "ENUM" else name)
        yield from ("pole_target", "pole_mode=TARGET") if row.has_pole else ()
        yield from ("subtarget",) if "handles" in row.rig else ()
        yield from ("pole_subtarget",) if "pole bones" in row.rig else ()


def test_every_property_has_a_row_or_a_reason_to_have_none():
    from benchmarks.setting_rows import NO_ROW

    needed, rows = set(things()), set(covered())
    assert {"influence", "solver=CCD", "joints.kind=CONE", "force.ease"} <= needed
    missing = needed - rows - NO_ROW.keys()
    assert not missing, f"give them a row, or a reason, in setting_rows: {sorted(missing)}"
    assert not rows & NO_ROW.keys()
    assert all(NO_ROW.values())


# The first two share their processes.
GROUPS_OF_PAGES = (
    ("limits", "finger: NEWTON, 1 limb"),
    ("settings", "start from REST, one of four bones"),
    ("settings", "redraw 1 x 20 x 2"),
    ("settings", "human, one dragged, x without spaces"),
    ("table", "1 x 4 x 2"),
)


def rows_of(pages: ModuleType, page: str, group: str) -> list[object]:
    """Return the rows of a group, and of one that would start many processes the most telling."""
    rows = [row for row in pages.PAGES[page][-1] if row.group == group]
    if page == "table":
        return [row for row in rows if "floor" in row.other.process]
    return [dataclasses.replace(rows[0], other=None)] if "human" in group else rows


@pytest.mark.slow
@pytest.mark.skipif(bool(bpy.app.binary_path), reason="workers need a Python that imports bpy")
def test_rows_of_each_page_are_measured_from_end_to_end(tmp_path):
    from benchmarks import measuring, pages, workers

    def start(program, *arguments):
        """Start a worker on this very Python, without installing anything."""
        command = [sys.executable, "-m", f"benchmarks.{program}", *arguments]
        path = os.pathsep.join((str(ROOT / "scripts"), str(ROOT)))
        own = {"PYTHONPATH": path, "BLENDER_USER_RESOURCES": str(tmp_path)}
        return workers.Worker(program, command, {**os.environ, **own})

    rows = [row for page, group in GROUPS_OF_PAGES for row in rows_of(pages, page, group)]
    assert len(rows) == 6
    results = list(measuring.measure(rows, start, 1))
    for each in results:
        assert each.reason == ""
        assert 0.0 < each.value < 1e5
        assert each.ours.facts.get("reached", 1.0) == 1.0
    assert len({each.row.ours.task for each in results}) >= 3
    text = measuring.make_page(results, "")
    assert all(each.row.name in text for each in results)
