"""Writing of files that a killed run leaves intact: write beside the file, then replace it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from .errors import CommandError, UsageError

# The permissions to write of all users. A file without any is locked on purpose, also for root.
ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def check_writable(path: Path) -> None:
    """Raise a ``CommandError`` if a file cannot be written, before the work begins."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(f"The folder {folder} does not exist: make it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file in it.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"The folder {folder} is not writable: choose another.")
    # A file that is only replaced need not be writable, but Blender refuses these files as well.
    if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & ANY_WRITE):
        raise CommandError(f"{path} is read-only: make it writable, or choose another file.")


def make_folder(path: Path) -> None:
    """Make the folder of a file, but no folder above it, which would hide a wrong path."""
    folder = path.absolute().parent
    if folder.parent.is_dir() and not folder.exists():
        # Another process may make the same folder at this moment.
        folder.mkdir(exist_ok=True)


def is_same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to the same place."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.absolute().resolve() == other.absolute().resolve()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside a file; the file there replaces it at the end."""
    # Resolved, so that a link stays a link.
    path = path.absolute().resolve()
    handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}.", path.parent)
    os.close(handle)
    temporary = Path(name)
    # Blender would keep a file that exists there as a backup.
    temporary.unlink()
    try:
        yield temporary
        if path.exists():
            shutil.copymode(path, temporary)
        else:
            # Temporary files are for their owner alone; give this one the usual permissions.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path) -> None:
    """Save the open file to a path, compressed if it was compressed before.

    Raises:
        CommandError: If Blender cannot write the file.
    """
    with open(bpy.data.filepath, "rb") as file:
        is_compressed = file.read(7) != b"BLENDER"
    with replacing(path) as temporary:
        name = str(temporary)
        try:
            bpy.ops.wm.save_as_mainfile(
                filepath=name, copy=True, check_existing=False, compress=is_compressed
            )
            # On a full disk Blender reports a truncated compressed file as saved, so read it again.
            with bpy.data.libraries.load(name):  # type: ignore[func-returns-value]
                pass
        except (OSError, RuntimeError) as error:
            raise CommandError(
                f"{path} could not be saved completely: free disk space, or choose another folder."
            ) from error
        finally:
            # Blender writes to this file first.
            Path(f"{name}@").unlink(missing_ok=True)
