"""Every property of a chain, and every value of each that has some, has a row of the benchmark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from blender_ik_addon.properties.forces import ForceSettings
from blender_ik_addon.properties.joints import JointSettings
from blender_ik_addon.properties.settings import ChainSettings

ROOT = Path(__file__).resolve().parents[3]
GROUPS = {"": ChainSettings, "joints.": JointSettings, "force.": ForceSettings}


@pytest.fixture
def parts(monkeypatch):
    """The benchmark's modules; scripts/ is no package of the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from benchmarks import setting_rows, settings, workers
    from benchmarks.scenes import setting_rigs

    return SimpleNamespace(rigs=setting_rigs, rows=setting_rows, settings=settings, workers=workers)


def things() -> Iterator[str]:
    """Yield what needs a row: properties, and the values of those that have some to choose."""
    for prefix, group in GROUPS.items():
        for each in group.bl_rna.properties:
            if each.identifier == "rna_type":
                continue
            if each.type != "ENUM":
                yield prefix + each.identifier
                continue
            for item in each.enum_items:
                yield f"{prefix}{each.identifier}={item.identifier}"


def covered(rows) -> set[str]:
    return {thing for row in rows.ROWS for thing in row.covers}


def test_every_property_has_a_row_or_a_reason_to_have_none(parts):
    needed = set(things())
    assert {"influence", "solver=CCD", "joints.kind=CONE", "force.ease"} <= needed
    missing = needed - covered(parts.rows) - parts.rows.NO_ROW.keys()
    assert not missing, f"give them a row, or a reason, in setting_rows: {sorted(missing)}"


def test_no_row_and_no_reason_is_for_something_that_is_gone(parts):
    needed = set(things())
    assert covered(parts.rows) <= needed
    assert parts.rows.NO_ROW.keys() <= needed
    assert not covered(parts.rows) & parts.rows.NO_ROW.keys()
    assert all(parts.rows.NO_ROW.values())


def test_a_row_sets_what_it_is_the_row_of(parts):
    for row in parts.rows.ROWS:
        held = {
            **row.chain,
            **{f"joints.{name}": value for name, value in row.joint.items()},
            **{f"force.{name}": value for name, value in row.force.items()},
        }
        for thing in row.covers:
            name, _, value = thing.partition("=")
            group, _, key = name.rpartition(".")
            default = GROUPS[f"{group}." if group else ""].bl_rna.properties[key]
            if thing == "solver=TWO_BONE":
                # What the worker gives to chains of two bones.
                assert not row.chain
            elif value:
                assert held.get(name, default.default) == value, (row.name, thing)
            elif key in ("pole_target", "pole_subtarget"):
                assert row.has_pole
            elif key == "subtarget":
                assert "handles" in row.rig
            else:
                assert held[name] != default.default, (row.name, thing)


def test_rows_change_rigs_in_ways_that_exist(parts):
    known = {*parts.rigs.CHANGES, *parts.rigs.INHERITED, *parts.rigs.MODES}
    assert {name for row in parts.rows.ROWS for name in row.rig} <= known


@pytest.mark.slow
@pytest.mark.skipif(bool(bpy.app.binary_path), reason="workers need a Python that imports bpy")
@pytest.mark.parametrize("only", ["start from REST", "one such tree"])
def test_two_rows_are_measured_from_end_to_end(parts, tmp_path, only):
    class Here:
        """Starts workers on this very Python, without installing anything."""

        def start_in_blender(self, module, *arguments):
            command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
            path = os.pathsep.join((str(ROOT / "scripts"), str(ROOT)))
            own = {"PYTHONPATH": path, "BLENDER_USER_RESOURCES": str(tmp_path)}
            return parts.workers.Worker(module, command, {**os.environ, **own})

    figures = parts.settings.measured(Here(), 1, only)
    assert not [figure.reason for figure in figures if figure.reason]
    scenes = ["once"] if "such" in only else list(parts.rows.SCENES)
    assert [figure.scene for figure in figures] == scenes
    for figure in figures:
        assert figure.reached == 1.0 or figure.scene == "once"
        assert 0.0 < figure.value("wall") < 1e5
    assert only in parts.settings.table(figures)
