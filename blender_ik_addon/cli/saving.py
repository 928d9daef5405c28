"""Files are written beside their place and put there whole: a killed run leaves what was there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from .errors import CommandError, UsageError


def check_place(path: Path) -> None:
    """Raise if a file could not be written, before anything takes time.

    Raises:
        CommandError: With what to do next.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(f"The folder {folder} does not exist: make it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"The folder {folder} cannot be written to: choose another.")


def make_folder(path: Path) -> None:
    """Make the folder of a file, but not the one that holds it: that would hide a wrong path."""
    folder = path.absolute().parent
    if folder.parent.is_dir() and not folder.exists():
        # Another process may make it just now.
        folder.mkdir(exist_ok=True)


def are_same(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to the same place."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.absolute().resolve() == other.absolute().resolve()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a temporary place beside a file; what is written there replaces it at the end."""
    # A link stays one.
    path = path.absolute().resolve()
    handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}.", path.parent)
    os.close(handle)
    temporary = Path(name)
    # Blender would keep what it finds there as a backup.
    temporary.unlink()
    try:
        yield temporary
        if path.exists():
            shutil.copymode(path, temporary)
        else:
            # Not for the owner alone, as temporary files are.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path) -> None:
    """Save what is open, compressed if the file that it comes from is.

    Raises:
        CommandError: If Blender cannot write the file.
    """
    with open(bpy.data.filepath, "rb") as file:
        is_compressed = file.read(7) != b"BLENDER"
    with replaced(path) as temporary:
        name = str(temporary)
        try:
            bpy.ops.wm.save_as_mainfile(
                filepath=name, copy=True, check_existing=False, compress=is_compressed
            )
            # On a full disk Blender takes a compressed file for saved that ends in the middle.
            with bpy.data.libraries.load(name):  # type: ignore[func-returns-value]
                pass
        except (OSError, RuntimeError) as error:
            raise CommandError(
                f"{path} could not be saved whole: make room on the disk, or choose another place."
            ) from error
        finally:
            # Blender writes there first.
            Path(f"{name}@").unlink(missing_ok=True)
