"""The benchmark's clocks stand around functions that exist: renamed ones would stop it."""

import importlib
import runpy
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
STAGES = runpy.run_path(str(SCRIPTS / "benchmarks" / "measured" / "blender_stages.py"))["STAGES"]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_an_update_names_functions_that_exist(stage):
    for module, name in STAGES[stage]:
        owner = importlib.import_module(f"blender_ik_addon.{module}")
        for part in name.split("."):
            owner = getattr(owner, part)
        assert callable(owner)
