"""Scenes of twelve frames, which tests bake and play by default."""

import bpy
import pytest

LAST = 12


@pytest.fixture(autouse=True)
def short_scene(empty_scene: None) -> None:
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    scene.frame_set(1)
