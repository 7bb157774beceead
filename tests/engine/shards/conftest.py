from __future__ import annotations

from tests.engine.store.conftest import folder_machines, machines, s3, s3_machines, seaweed

__all__ = ["folder_machines", "machines", "s3", "s3_machines", "seaweed"]
