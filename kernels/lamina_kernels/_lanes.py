"""Eight interleaved sums of products as vector instructions.

NumPy's pairwise sum adds a block in eight interleaved parts (`lamina_kernels.distances`), an order in which eight numbers can
be added at once. LLVM does not find that out by itself: from eight variables, or from an array of eight, it makes instructions
for one number each, which took seven times as long (300 rows of 256 dimensions: 165 against 23 microseconds). So this one sum is
written in LLVM's own language, as a function that kernels call like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_kernels.layouts import F32, F64

if TYPE_CHECKING:
    from numba.core.types import Type

LANES: Final = 8


class LaneSum:
    """Sum of ``row[i] * query[i]`` for start <= i < stop, in float64.

    Lane l adds up i = start + l, start + l + 8, ... in this order, and the lanes are added in pairs, as
    NumPy does. ``stop - start`` is a multiple of 8, at least 8; nothing checks it. Numba is imported when a kernel that calls
    it is compiled.
    """

    def __call__(self, row: F32, query: F64, start: int, stop: int) -> float:
        products = (row[start:stop].astype(np.float64) * query[start:stop]).reshape(-1, LANES)
        lanes = products[0].copy()
        for part in products[1:]:
            lanes += part
        a, b, c, d, e, f, g, h = lanes.tolist()
        return float(((a + b) + (c + d)) + ((e + f) + (g + h)))

    @cached_property
    def _numba_type_(self) -> Type:
        """Type by which Numba calls the instructions."""
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        made, context = intrinsic(_signature), cpu_target.typing_context
        context.refresh()  # it takes in what was made
        found: Type = context.resolve_value_type(made)
        return found


def _signature(_context: Any, row: Any, query: Any, start: Any, stop: Any) -> tuple[Any, Callable[..., Any]]:
    from numba.core import types

    return types.float64(row, query, types.int64, types.int64), _build


def _build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit the loop of one vector addition for eight products."""
    from llvmlite import ir
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    row, query = (make_array(kind)(context, builder, value) for kind, value in zip(signature.args[:2], args[:2], strict=True))
    start, stop = args[2:]
    wide, number = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(64)
    narrow = ir.VectorType(ir.FloatType(), LANES)

    def load(array: Any, kind: Any, place: Any, alignment: int) -> Any:
        first = builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer())
        return builder.load(first, align=alignment)

    def products(place: Any) -> Any:
        return builder.fmul(builder.fpext(load(row, narrow, place, 4), wide), load(query, wide, place, 8))

    total = cgutils.alloca_once(builder, wide)
    builder.store(products(start), total)
    step = number(LANES)
    with cgutils.for_range_slice(builder, builder.add(start, step), stop, step, number) as (place, _):
        builder.store(builder.fadd(builder.load(total), products(place)), total)
    lanes = builder.load(total)
    parts = [builder.extract_element(lanes, ir.IntType(32)(lane)) for lane in range(LANES)]
    while len(parts) > 1:
        parts = [builder.fadd(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
    return parts[0]


lane_sum: Final = LaneSum()
