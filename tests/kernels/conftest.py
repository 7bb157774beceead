"""Kernels are compiled before the first test, so that no property's time contains a compilation."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import lamina_kernels
from lamina_kernels._jit import Kernel

Named = dict[str, Kernel[..., object]]


def find_kernels() -> Named:
    """Every kernel of the package that Python calls, by module and name (helpers of kernels have no examples)."""
    found: Named = {}
    for info in pkgutil.walk_packages(lamina_kernels.__path__, "lamina_kernels."):
        module, short = importlib.import_module(info.name), info.name.rpartition(".")[2]
        for name, value in vars(module).items():
            if isinstance(value, Kernel) and not name.startswith("_"):
                found[f"{short}.{name}"] = value
    return found


@pytest.fixture(scope="session", autouse=True)
def all_kernels() -> Named:
    found = find_kernels()
    for each in found.values():
        each.warm()
    return found
