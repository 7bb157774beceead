"""Vector instructions by hand: the few inner steps that LLVM does not find by itself.

Each is an `Intrinsic`: LLVM instructions that Numba puts where a kernel calls it, and a plain Python twin that says
what they do and that runs where the JIT is off. Most are generic vector instructions, which LLVM lowers for any
processor; three name an instruction of x86, and each of these has a portable form with the same integers as its result.
Like `_jit`, this file imports Numba only when a kernel is compiled.

Nothing here checks a bound: arrays are padded to whole vectors by those who make them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from lamina_kernels.layouts import F32, F64, I32

if TYPE_CHECKING:
    from numba.core.types import Type

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

LANES = 64
"""Numbers that `beats` compares at once: one bit of its answer each."""
STEP = 8
"""Numbers that `insert_sorted` moves at once."""
SUMS = 8
"""Running sums of `lane_sum`, as many as NumPy has."""


class Intrinsic(Generic[P, R_co]):
    """Function of kernels with given instructions and a Python twin; made by `intrinsic`."""

    def __init__(self, twin: Callable[P, R_co], define: Callable[..., Any]) -> None:
        self.twin = twin
        self.__doc__ = twin.__doc__
        self._define = define
        self._lock = threading.Lock()
        self._type: Type | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the twin."""
        return self.twin(*args, **kwargs)

    @property
    def _numba_type_(self) -> Type:
        """Numba's type of this global."""
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic as register

        with self._lock:
            if self._type is None:
                made = register(self._define)
                cpu_target.typing_context.refresh()  # lets it see what was registered just now
                self._type = cpu_target.typing_context.resolve_value_type(made)
            return self._type  # pyright: ignore[reportReturnType]


def intrinsic(define: Callable[..., Any]) -> Callable[[Callable[P, R_co]], Intrinsic[P, R_co]]:
    """Pair a Python twin with its definition, which gives a signature and a code generator."""
    return lambda twin: Intrinsic(twin, define)


def instructions() -> Any:
    """Return llvmlite's builder of instructions."""
    from llvmlite import ir

    return ir


def address(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of an array's first element as an integer."""
    ir = instructions()

    pointer = context.make_array(kind)(context, builder, array).data
    return builder.ptrtoint(pointer, ir.IntType(64))


def element(builder: Any, base: Any, index: Any, kind: Any, *, item_bytes: int = 4) -> Any:
    """Return a pointer to an element of an array."""
    ir = instructions()

    offset = builder.mul(index, ir.Constant(ir.IntType(64), item_bytes))
    return builder.inttoptr(builder.add(base, offset), kind.as_pointer())


def load(builder: Any, pointer: Any, align: int) -> Any:
    """Load the value at a pointer that is a multiple of ``align`` bytes."""
    value = builder.load(pointer)
    value.align = align
    return value


def splat(builder: Any, value: Any, width: int) -> Any:
    """Return a vector with one value in every lane."""
    ir = instructions()

    i32 = ir.IntType(32)
    undefined = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(i32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(i32, width), [0] * width))


def _define_beats(_: Any, scores: Any, start: Any, floors: Any, floor_start: Any, floor: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64, width = ir.IntType(64), 8
        vector = ir.VectorType(ir.FloatType(), width)
        values = address(context, builder, signature.args[0], args[0])
        bounds = address(context, builder, signature.args[2], args[2])
        row = splat(builder, args[4], width)
        mask = ir.Constant(i64, 0)
        for at in range(0, LANES, width):
            step = ir.Constant(i64, at)
            value = load(builder, element(builder, values, builder.add(args[1], step), vector), 4)
            bound = load(builder, element(builder, bounds, builder.add(args[3], step), vector), 4)
            lower = builder.select(builder.fcmp_ordered("<", bound, row), bound, row)
            hit = builder.bitcast(builder.fcmp_ordered(">", value, lower), ir.IntType(width))
            mask = builder.or_(mask, builder.shl(builder.zext(hit, i64), step))
        return mask

    return types.uint64(scores, types.intp, floors, types.intp, types.float32), generate


@intrinsic(_define_beats)
def beats(scores: F32, start: int, floors: F32, floor_start: int, floor: float | np.float32) -> np.uint64:
    """Return the 64 scores above ``floor`` or above their own floor as bits, first lowest.

    Parameters
    ----------
    scores, floors : float32 (m,)
        64 of each are read, from ``start`` and from ``floor_start``.
    start, floor_start : int
    floor : float
        A common floor; the lower of the two decides.
    """
    found = scores[start : start + LANES] > np.minimum(floors[floor_start : floor_start + LANES], np.float32(floor))
    return np.uint64(int.from_bytes(np.packbits(found, bitorder="little").tobytes(), "little"))


def _define_insert_sorted(_: Any, rows: Any, scores: Any, start: Any, count: Any, row: Any, score: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import cgutils

        i64, width = ir.IntType(64), STEP
        singles, words = ir.VectorType(ir.FloatType(), width), ir.VectorType(ir.IntType(32), width)
        offset = builder.mul(args[2], ir.Constant(i64, 4))
        bases = [builder.add(address(context, builder, signature.args[k], args[k]), offset) for k in (1, 0)]
        news = [splat(builder, args[k], width) for k in (5, 4)]
        lists = list(zip(bases, (singles, words), news, strict=True))
        best = ir.Constant(singles, [float("inf")] * width)
        shift = ir.Constant(ir.VectorType(ir.IntType(32), width), [width, *range(width - 1)])

        def put(at: Any, before: Callable[[Any, Any, Any], Any]) -> None:
            old = [load(builder, element(builder, base, at, kind), 4) for base, kind, _ in lists]
            previous = [before(base, kind, value) for (base, kind, _), value in zip(lists, old, strict=True)]
            stays = builder.fcmp_ordered(">=", old[0], lists[0][2])
            follows = builder.fcmp_ordered(">=", previous[0], lists[0][2])
            for (base, kind, new), value, moved in zip(lists, old, previous, strict=True):
                put_here = builder.select(stays, value, builder.select(follows, new, moved))
                builder.store(put_here, element(builder, base, at, kind)).align = 4

        steps = builder.udiv(args[3], ir.Constant(i64, width))
        with cgutils.for_range(builder, builder.sub(steps, ir.Constant(i64, 1))) as loop:
            back = builder.add(loop.index, ir.Constant(i64, 1))
            at = builder.sub(args[3], builder.mul(back, ir.Constant(i64, width)))
            one_less = builder.sub(at, ir.Constant(i64, 1))
            put(at, lambda base, kind, value: load(builder, element(builder, base, one_less, kind), 4))

        def shifted(base: Any, kind: Any, value: Any) -> Any:
            first = best if kind is singles else ir.Constant(kind, ir.Undefined)
            return builder.shuffle_vector(value, first, shift)

        put(ir.Constant(i64, 0), shifted)
        return context.get_dummy_value()

    return types.void(rows, scores, types.intp, types.intp, types.int32, types.float32), generate


@intrinsic(_define_insert_sorted)
def insert_sorted(
    rows: I32, scores: F32, start: int, count: int, row: int | np.int32, score: float | np.float32
) -> None:
    """Put a row into a list sorted best first, after equal ones, in place of the last.

    Parameters
    ----------
    rows, scores : int32 and float32
        Both hold the list from place ``start`` of their memory on; changed. The last score is less than ``score``.
    start, count : int
        ``count`` is a multiple of 8, at least 8.
    row, score : int and float

    Notes
    -----
    Eight places at a time and no jump that depends on a score: a jump hardly ever goes the way it went before.
    """
    flat_rows, flat_scores = rows.reshape(-1), scores.reshape(-1)
    part = flat_scores[start : start + count]
    at = start + int((part >= np.float32(score)).sum())
    for flat, new in ((flat_rows, row), (flat_scores, score)):
        flat[at + 1 : start + count] = flat[at : start + count - 1].copy()
        flat[at] = new


def _define_lowest_bit(_: Any, mask: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic(_define_lowest_bit)
def lowest_bit(mask: np.uint64) -> int:
    """Return the place of the lowest bit that is set; the mask is not 0."""
    number = int(mask)
    return (number & -number).bit_length() - 1


def _define_square_distance(
    _: Any, left: Any, i: Any, scale_i: Any, right: Any, j: Any, scale_j: Any, size: Any
) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64, width = ir.IntType(64), 8
        single, double = ir.VectorType(ir.FloatType(), width), ir.VectorType(ir.DoubleType(), width)
        bases = [address(context, builder, signature.args[k], args[k]) for k in (0, 3)]
        starts, scales = (args[1], args[4]), [splat(builder, args[k], width) for k in (2, 5)]
        before = builder.basic_block
        test, body, after = (builder.append_basic_block(name) for name in ("test", "body", "after"))
        builder.branch(test)
        builder.position_at_end(test)
        at, total = builder.phi(i64), builder.phi(double)
        at.add_incoming(ir.Constant(i64, 0), before)
        total.add_incoming(ir.Constant(double, None), before)
        builder.cbranch(builder.icmp_signed("<", at, args[6]), body, after)
        builder.position_at_end(body)
        parts = []
        for base, start, scale in zip(bases, starts, scales, strict=True):
            value = load(builder, element(builder, base, builder.add(start, at), single), 4)
            parts.append(builder.fmul(builder.fpext(value, double), scale))
        difference = builder.fsub(*parts)
        added = builder.fadd(total, builder.fmul(difference, difference))
        at.add_incoming(builder.add(at, ir.Constant(i64, width)), body)
        total.add_incoming(added, body)
        builder.branch(test)
        builder.position_at_end(after)
        sums = [builder.extract_element(total, ir.Constant(ir.IntType(32), k)) for k in range(width)]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [builder.fadd(sums[k], sums[k + half]) for k in range(half)]
        return sums[0]

    numbers = types.float64
    return numbers(left, types.intp, numbers, right, types.intp, numbers, types.intp), generate


@intrinsic(_define_square_distance)
def square_distance(left: F32, i: int, scale_i: float, right: F32, j: int, scale_j: float, size: int) -> float:
    """Squared Euclidean distance of two scaled rows in float64, summed in one fixed order.

    Parameters
    ----------
    left, right : float32 (m,)
        ``size`` numbers of each are read, from ``i`` and from ``j``.
    i, j : int
    scale_i, scale_j : float
        What the rows are multiplied by.
    size : int
        A multiple of 8: rows end in zeros up to there.

    Notes
    -----
    Eight running sums, then halves added to halves. No reordering, no fused operations: exchanging the rows or the
    machine changes no bit.
    """
    difference = left[i : i + size].astype(np.float64) * scale_i - right[j : j + size].astype(np.float64) * scale_j
    sums = np.zeros(8)
    for part in (difference * difference).reshape(-1, 8):
        sums += part
    while sums.size > 1:
        sums = sums[: sums.size // 2] + sums[sums.size // 2 :]
    return float(sums[0])


def _define_number_at(_: Any, base: Any, index: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(builder, element(builder, args[0], args[1], ir.FloatType()), 4)

    return types.float32(types.int64, types.intp), generate


@intrinsic(_define_number_at)
def number_at(base: int, index: int) -> np.float32:
    """Return a float32 of memory at an address; the caller holds the array that lies there."""
    return np.float32(_memory(base, index + 1)[index])


def _define_array_at(_: Any, place: Any, size: Any, zero: Any) -> Any:
    from numba import types

    kind = types.Array(zero, 1, "C", readonly=True)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import cgutils
        from numba.np import arrayobj

        item = context.get_data_type(zero)
        item_bytes = context.get_constant(types.intp, context.get_abi_sizeof(item))
        made = context.make_array(kind)(context, builder)
        fill: Any = arrayobj.populate_array
        pack: Any = cgutils.pack_array
        fill(
            made,
            data=builder.inttoptr(args[0], item.as_pointer()),
            shape=pack(builder, [args[1]]),
            strides=pack(builder, [item_bytes]),
            itemsize=item_bytes,
            meminfo=None,
        )
        return made._getvalue()

    return kind(types.int64, types.intp, zero), generate


@intrinsic(_define_array_at)
def array_at(place: int, size: int, zero: np.generic) -> NDArray[Any]:
    """Return the array at an address, as long as its owner holds it.

    Parameters
    ----------
    place : int
    size : int
        Numbers in it.
    zero : number
        Of the array's dtype.
    """
    import ctypes

    room = (ctypes.c_uint8 * (int(size) * zero.dtype.itemsize)).from_address(int(place))
    return np.ctypeslib.as_array(room).view(zero.dtype)


def _define_prefetch_line(_: Any, place: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        name = "llvm.prefetch.p0"
        ask = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        # to be read, kept in every cache, data
        builder.call(ask, [builder.inttoptr(args[0], pointer), *(ir.Constant(i32, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic(_define_prefetch_line)
def prefetch_line(place: int) -> None:
    """Ask for the cache line at an address, and wait for nothing; any address will do."""


def _define_lane_sum(_: Any, base: Any, query: Any, start: Any, stop: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64 = ir.IntType(64)
        single, double = ir.VectorType(ir.FloatType(), SUMS), ir.VectorType(ir.DoubleType(), SUMS)
        weights = address(context, builder, signature.args[1], args[1])

        def products(at: Any) -> Any:
            value = load(builder, element(builder, args[0], at, single), 4)
            weight = load(builder, element(builder, weights, at, double, item_bytes=8), 8)
            return builder.fmul(builder.fpext(value, double), weight)

        step, first = ir.Constant(i64, SUMS), products(args[2])
        before = builder.basic_block
        test, body, after = (builder.append_basic_block(name) for name in ("test", "body", "after"))
        second = builder.add(args[2], step)
        builder.branch(test)
        builder.position_at_end(test)
        at, total = builder.phi(i64), builder.phi(double)
        at.add_incoming(second, before)
        total.add_incoming(first, before)
        builder.cbranch(builder.icmp_signed("<", at, args[3]), body, after)
        builder.position_at_end(body)
        added = builder.fadd(total, products(at))
        at.add_incoming(builder.add(at, step), body)
        total.add_incoming(added, body)
        builder.branch(test)
        builder.position_at_end(after)
        sums = [builder.extract_element(total, ir.Constant(ir.IntType(32), k)) for k in range(SUMS)]
        while len(sums) > 1:
            sums = [builder.fadd(sums[k], sums[k + 1]) for k in range(0, len(sums), 2)]
        return sums[0]

    return types.float64(types.int64, query, types.intp, types.intp), generate


@intrinsic(_define_lane_sum)
def lane_sum(base: int, query: F64, start: int, stop: int) -> float:
    """Sum of the products of a row and a query in float64, in NumPy's order.

    Parameters
    ----------
    base : int
        Address of the row, float32 (d,); whoever asks holds the array that lies there.
    query : float64 (d,)
    start, stop : int
        The numbers from ``start`` to before ``stop`` are read: a multiple of 8, at least 8.

    Notes
    -----
    Eight running sums, then neighbours added to neighbours. From eight variables, or from an array of eight, LLVM makes
    instructions for one number each, which took seven times as long: 300 rows of 256 dimensions 165 against 23 microseconds.
    """
    products = (_memory(base, stop)[start:].astype(np.float64) * query[start:stop]).reshape(-1, SUMS)
    sums = products[0].copy()
    for part in products[1:]:
        sums += part
    while sums.size > 1:
        sums = sums[0::2] + sums[1::2]
    return float(sums[0])


def _memory(base: int, size: int) -> F32:
    """Return float32 (size,) at an address."""
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(base))


def grant_tiles() -> bool:
    """Ask Linux for the registers of AMX on behalf of this process; return whether it gave them."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    # arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); a system that does not know it says no
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(158), ctypes.c_long(0x1023), ctypes.c_long(18))) == 0


def processor_features() -> set[str]:
    """Return LLVM's names of the CPU features that processor and system support."""
    from llvmlite.binding import get_host_cpu_features

    return {name for name, present in get_host_cpu_features().items() if present}
