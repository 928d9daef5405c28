"""Version, name and licence: what the manifest and the documents say.

Blender's builder refuses other faults of the manifest, those of tagline and permissions among them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

LICENCE = "SPDX:GPL-3.0-or-later"
VERSION = re.compile(r"\d+\.\d+\.\d+")
HEADING = re.compile(r"^## (\S+)(.*)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# A version that a document tells: in the name of the zip, or after the name of the extension.
TOLD = re.compile(r"(?:chain_ik-|Chain IK )(\d+\.\d+\.\d+)")
# They tell with which version something was measured or has changed.
HISTORY = ("docs/benchmark/", "CHANGELOG.md")


def check_version(manifest: Manifest) -> list[str]:
    """Check that the version is one of three numbers."""
    version = manifest["version"]
    if VERSION.fullmatch(version):
        return []
    return [f"The version '{version}' in blender_manifest.toml is not like 1.0.0."]


def check_changelog(manifest: Manifest, text: str) -> list[str]:
    """Check that the newest section of the change log is this version's, with its date."""
    version = manifest["version"]
    sections = dict(HEADING.findall(text))
    if version not in sections:
        return [
            f"CHANGELOG has no section {version}: give what is unreleased a heading"
            f" '## {version} (YEAR-MONTH-DAY)'."
        ]
    newest = next(iter(sections))
    if newest != version:
        return [f"The newest section of CHANGELOG is {newest}, and the manifest says {version}."]
    if not DATE.search(sections[version]):
        return [f"The section {version} of CHANGELOG has no date."]
    return []


def check_documents(manifest: Manifest, root: Path, files: list[str]) -> list[str]:
    """Check that no document or script tells another version."""
    faults = []
    for name in files:
        is_text = name.endswith((".md", ".py", ".js", ".toml")) and not name.startswith("tests/")
        if not is_text or name.startswith(HISTORY):
            continue
        for told in sorted(set(TOLD.findall((root / name).read_text(encoding="utf-8")))):
            if told != manifest["version"]:
                faults.append(f"{name} tells version {told}, the manifest {manifest['version']}.")
    return faults


def check_name(manifest: Manifest) -> list[str]:
    """Check that the name is none of somebody else's."""
    has_it = "blender" in manifest["name"].lower()
    return ["The name must not contain 'Blender'."] if has_it else []


def check_licence(manifest: Manifest, licence: str) -> list[str]:
    """Check that the manifest names the licence that stands in the file."""
    faults = []
    if manifest["license"] != [LICENCE]:
        faults.append(f"The licence of an add-on has to be {LICENCE}.")
    head = " ".join(licence.split())[:80]
    if not head.startswith("GNU GENERAL PUBLIC LICENSE Version 3"):
        faults.append("The file LICENSE is not the GNU General Public License, version 3.")
    if not manifest.get("copyright"):
        faults.append("The manifest names nobody who has the copyright.")
    return faults
