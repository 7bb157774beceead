"""Invented worlds of notes with questions about them: two to build with, one that nothing was tuned on."""

from lamina_engine.evaluation.kgworlds.making import WORLDS, World, make_world

__all__ = ["WORLDS", "World", "make_world"]
