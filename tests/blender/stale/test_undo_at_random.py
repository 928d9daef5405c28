"""Blender stays up while a file is edited and undone at random, as without the extension."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bpy
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "tests.blender.stale.undo_at_random"
STEPS = 150


def run(seed: int, kind: str) -> None:
    """Run the program in a process of its own, which takes no other test down with it."""
    command = [sys.executable, "-m", PROGRAM, str(seed), str(STEPS), kind]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, f"exit code {ended.returncode}\n{ended.stderr[-2000:]}"
    assert f"{kind}, seed {seed}: {STEPS} steps" in ended.stdout


@pytest.mark.skipif(bool(bpy.app.binary_path), reason="Blender is no Python module here")
@pytest.mark.parametrize("seed", range(2))
def test_undo_at_random_leaves_blender_up_and_chains_solved(seed):
    run(seed, "chains")


@pytest.mark.exhaustive
@pytest.mark.skipif(bool(bpy.app.binary_path), reason="Blender is no Python module here")
@pytest.mark.parametrize("kind", ["chains", "properties", "constraints"])
@pytest.mark.parametrize("seed", range(2, 12))
def test_undo_at_random_often_with_and_without_the_extension(seed, kind):
    run(seed, kind)
