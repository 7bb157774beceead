"""Time phrases of questions, and dates in names, read into half-open windows."""

from __future__ import annotations
