"""Skills: what an agent may read about using its memory, one folder with a SKILL.md each."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

NAMES: Final = ("lamina-memory", "freshness-report", "memory-refresh", "handoff")

SKILLS: Final = {name: files(__name__).joinpath(name, "SKILL.md").read_text(encoding="utf-8") for name in NAMES}
"""The text of each skill, by the name of its folder."""
