"""Recall quality on labelled sets: readers, measures, reports."""

from __future__ import annotations

from lamina_engine.evaluation.reader import load_set
from lamina_engine.evaluation.report import EvaluationReport, evaluate
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet

__all__ = ["EvaluationQuery", "EvaluationReport", "EvaluationSet", "evaluate", "load_set"]
