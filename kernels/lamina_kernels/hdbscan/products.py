"""Scores of six rows with one panel of columns: the inner loop of every search.

Rows are cut into words of four bytes: one float32, two int16 or four int8. Six rows lie interleaved word by word, and
so do the columns of a panel, so that each step reads one vector of columns, spreads one word of each row, and adds
the products to sums that never leave the registers: 6 × 16 of them on processors with registers of 32 bytes, 6 × 64
where they have 64 (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).

The score of a pair is minus half its squared distance, ``dot − |x|²/2 − |y|²/2``: higher is nearer, and no root is
taken. It is an estimate; `lamina_kernels.hdbscan.packed` says how far off it may be.

`float32` runs anywhere. `int16` has twice its rate where there is AVX2 (``vpmaddwd``), `int8` eight times where there
is AVX-512 VNNI (``vpdpbusd``). Sums of integers are exact, so the portable forms of both give the very same scores.

Processors with AMX multiply whole tiles of bytes (``tdpbusd``: 16 rows by 16 columns by 64 bytes). Their rows come in
blocks of sixteen, each row by itself; the panels are those of int8, and so are the scores, to the bit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, I32
from lamina_kernels.simd import address, element, instructions, intrinsic, load, splat

ROWS: Final = 6
"""Rows of one step; with two vectors of columns these are twelve sums in sixteen registers."""

TILED_ROWS: Final = 16
"""Rows of one step where there are tiles."""

TILED_WORDS: Final = 16
"""Words of a tile's row: rows of AMX are a multiple of this long."""

UNSIGNED: Final = -0x7F7F7F80
"""What int8 words of rows are combined with (exclusive or): the instruction takes unsigned × signed, value + 128."""


_ARGUMENTS = ("rows", "row_start", "panel", "panel_start", "groups", "out", "out_start", "stride")


class Shape(NamedTuple):
    """Width of a panel, in vectors of so many lanes."""

    lanes: int
    vectors: int

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.lanes * self.vectors


NARROW, WIDE = Shape(8, 2), Shape(16, 4)

Step = Callable[[Any, Any, Any, Any], Any]  # (builder, sum, word of a row in all lanes, words of columns) → sum


def _fused(builder: Any, total: Any, row: Any, column: Any) -> Any:
    ir = instructions()

    vector = ir.VectorType(ir.FloatType(), column.type.count)
    name = f"llvm.fmuladd.v{vector.count}f32"
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(vector, [vector] * 3), name
    )
    return builder.call(function, [builder.bitcast(row, vector), builder.bitcast(column, vector), total])


def _pairs_x86(builder: Any, total: Any, row: Any, column: Any) -> Any:
    ir = instructions()

    halves = ir.VectorType(ir.IntType(16), 2 * column.type.count)
    name = "llvm.x86.avx2.pmadd.wd"
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(column.type, [halves] * 2), name
    )
    return builder.add(total, builder.call(function, [builder.bitcast(row, halves), builder.bitcast(column, halves)]))


def _quads_x86(builder: Any, total: Any, row: Any, column: Any) -> Any:
    ir = instructions()

    name = "llvm.x86.avx512.vpdpbusd.512"
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(column.type, [column.type] * 3), name
    )
    return builder.call(function, [total, row, column])


def _portable(bits: int, *, unsigned_rows: bool) -> Step:
    """Return the step that multiplies parts of so many bits by shifts alone."""

    def step(builder: Any, total: Any, row: Any, column: Any) -> Any:
        ir = instructions()

        kind = column.type
        for low in range(0, 32, bits):
            up = ir.Constant(kind, [32 - bits - low] * kind.count)
            down = ir.Constant(kind, [32 - bits] * kind.count)
            shift = builder.lshr if unsigned_rows else builder.ashr
            left = shift(builder.shl(row, up), down)
            right = builder.ashr(builder.shl(column, up), down)
            total = builder.add(total, builder.mul(left, right))
        return total

    return step


def _define(shape: Shape, step: Step, *, floating: bool) -> Callable[..., Any]:
    def define(_: Any, *kinds: Any) -> Any:
        from numba import types

        place = types.intp
        signature = types.void(kinds[0], place, kinds[2], place, place, kinds[5], place, place)

        def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
            base = {
                name: address(context, builder, made.args[k], args[k]) for k, name in ((0, "a"), (2, "b"), (5, "out"))
            }
            a = builder.add(base["a"], _bytes(builder, args[1]))
            b = builder.add(base["b"], _bytes(builder, args[3]))
            sums = _sum_products(builder, a, b, args[4], shape, step, floating=floating)
            out = builder.add(base["out"], _bytes(builder, args[6]))
            _write_scores(builder, sums, (a, b, args[4]), (out, args[7]), shape, floating=floating)
            return context.get_dummy_value()

        return signature, generate

    # Numba asks a definition for its parameters, and cannot read *kinds
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    define.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in ("context", *_ARGUMENTS)]
    )
    return define


def _bytes(builder: Any, words: Any) -> Any:
    ir = instructions()

    return builder.mul(words, ir.Constant(ir.IntType(64), 4))


def _sum_products(
    builder: Any, a: Any, b: Any, groups: Any, shape: Shape, step: Step, *, floating: bool
) -> list[list[Any]]:
    """Generate the loop over words; return the sums by row and by vector of columns."""
    ir = instructions()

    i32, i64 = ir.IntType(32), ir.IntType(64)
    words = ir.VectorType(i32, shape.lanes)
    kind = ir.VectorType(ir.FloatType(), shape.lanes) if floating else words
    before, body, after = builder.basic_block, builder.append_basic_block("word"), builder.append_basic_block("summed")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(i64)
    k.add_incoming(ir.Constant(i64, 0), before)
    sums = [[builder.phi(kind) for _ in range(shape.vectors)] for _ in range(ROWS)]
    columns = []
    for v in range(shape.vectors):
        at = builder.add(builder.mul(k, ir.Constant(i64, shape.columns)), ir.Constant(i64, v * shape.lanes))
        columns.append(load(builder, element(builder, b, at, words), 4))
    following = builder.add(k, ir.Constant(i64, 1))
    for r in range(ROWS):
        at = builder.add(builder.mul(k, ir.Constant(i64, ROWS)), ir.Constant(i64, r))
        row = splat(builder, load(builder, element(builder, a, at, i32), 4), shape.lanes)
        for v in range(shape.vectors):
            total = sums[r][v]
            total.add_incoming(ir.Constant(kind, None), before)
            added = step(builder, total, row, columns[v])
            total.add_incoming(added, body)
            sums[r][v] = added
    k.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, groups), body, after)
    builder.position_at_end(after)
    return sums


def _write_scores(
    builder: Any, sums: list[list[Any]] | None, source: tuple[Any, Any, Any], target: tuple[Any, Any], shape: Shape, *,
    floating: bool, rows: int = ROWS,
) -> None:  # fmt: skip
    """Generate the step from sums to scores; sums that are not given stand where the scores go."""
    ir = instructions()

    i64, single = ir.IntType(64), ir.FloatType()
    a, b, groups = source
    out, stride = target
    vector, words = ir.VectorType(single, shape.lanes), ir.VectorType(ir.IntType(32), shape.lanes)
    a_end = builder.mul(groups, ir.Constant(i64, rows))
    b_end = builder.mul(groups, ir.Constant(i64, shape.columns))

    def of_columns(line: int, v: int, kind: Any) -> Any:
        place = builder.add(b_end, ir.Constant(i64, line * shape.columns + v * shape.lanes))
        return load(builder, element(builder, b, place, kind), 4)

    def of_row(line: int, r: int) -> Any:
        place = builder.add(a_end, ir.Constant(i64, line * rows + r))
        return splat(builder, load(builder, element(builder, a, place, single), 4), shape.lanes)

    for v in range(shape.vectors):
        scale, half, correction = of_columns(0, v, vector), of_columns(1, v, vector), of_columns(2, v, words)
        for r in range(rows):
            place = builder.add(builder.mul(stride, ir.Constant(i64, r)), ir.Constant(i64, v * shape.lanes))
            total = sums[r][v] if sums is not None else load(builder, element(builder, out, place, words), 4)
            if not floating:
                total = builder.sitofp(builder.sub(total, correction), vector)
            score = builder.fmul(total, builder.fmul(scale, of_row(0, r)))
            score = builder.fsub(builder.fsub(score, half), of_row(1, r))
            builder.store(score, element(builder, out, place, vector)).align = 4


_LEFT, _RIGHT = WIDE.vectors, WIDE.vectors + 1
"""Registers of tiles that hold rows and columns; those before hold the sums."""


def _tile(builder: Any, name: str, *args: Any) -> None:
    """Generate an instruction of AMX; a plain number names a register."""
    ir = instructions()

    values = [ir.Constant(ir.IntType(8), each) if isinstance(each, int) else each for each in args]
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    name = f"llvm.x86.{name}"
    builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), values)


def _define_open(_: Any) -> Any:
    ir = instructions()
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import cgutils

        # palette 1; from byte 16 on the bytes of each register's rows, two bytes a number; from byte 48 on its rows
        used = range(_RIGHT + 1)
        settings = {0: 1} | {16 + 2 * t: 4 * TILED_WORDS for t in used} | {48 + t: TILED_ROWS for t in used}
        kind = ir.ArrayType(ir.IntType(8), 64)
        place = cgutils.alloca_once(builder, kind)  # type: ignore[no-untyped-call]
        builder.store(ir.Constant(kind, [settings.get(byte, 0) for byte in range(64)]), place)
        _tile(builder, "ldtilecfg", builder.bitcast(place, ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(), generate


def _define_close(_: Any) -> Any:
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _tile(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), generate


def _define_tiles(
    _: Any, rows: Any, row_start: Any, panel: Any, panel_start: Any, groups: Any, out: Any, out_start: Any, stride: Any
) -> Any:
    from numba import types

    place = types.intp

    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        a, b, target = (
            builder.add(address(context, builder, made.args[k], args[k]), _bytes(builder, args[start]))
            for k, start in ((0, 1), (2, 3), (5, 6))
        )
        _sum_tiles(builder, a, b, args[4], target, args[7])
        _write_scores(builder, None, (a, b, args[4]), (target, args[7]), WIDE, floating=False, rows=TILED_ROWS)
        return context.get_dummy_value()

    return types.void(rows, place, panel, place, place, out, place, place), generate


def _sum_tiles(builder: Any, a: Any, b: Any, groups: Any, out: Any, stride: Any) -> None:
    """Generate the products of sixteen rows and a panel; sums stand in the place of scores."""
    ir = instructions()
    from numba.core import cgutils

    i64 = ir.IntType(64)

    def at(base: Any, words: Any) -> Any:
        return element(builder, base, words, ir.IntType(8))

    row_bytes, line_bytes = _bytes(builder, groups), ir.Constant(i64, 4 * WIDE.columns)
    for v in range(WIDE.vectors):
        _tile(builder, "tilezero", v)
    with cgutils.for_range(builder, builder.udiv(groups, ir.Constant(i64, TILED_WORDS))) as loop:
        word = builder.mul(loop.index, ir.Constant(i64, TILED_WORDS))
        panel = builder.add(b, _bytes(builder, builder.mul(word, ir.Constant(i64, WIDE.columns))))
        _tile(builder, "tileloadd64", _LEFT, at(a, word), row_bytes)
        for v in range(WIDE.vectors):
            _tile(builder, "tileloadd64", _RIGHT, at(panel, ir.Constant(i64, v * WIDE.lanes)), line_bytes)
            _tile(builder, "tdpbusd", v, _LEFT, _RIGHT)
    for v in range(WIDE.vectors):
        _tile(builder, "tilestored64", v, at(out, ir.Constant(i64, v * WIDE.lanes)), _bytes(builder, stride))


def _twin(
    shape: Shape, part: type[np.generic], row_part: type[np.generic], rows_of_block: int = ROWS
) -> Callable[..., None]:
    """Return the same in NumPy: the sums of integers exactly, those of float32 in another order."""

    def block(
        rows: I32, row_start: int, panel: I32, panel_start: int, groups: int, out: F32, out_start: int, stride: int
    ) -> None:
        width = shape.columns
        block_rows = rows[row_start:]
        left, scale_r, half_r = _lines(block_rows, groups, rows_of_block, row_part)
        if rows_of_block == TILED_ROWS:
            left = block_rows[: groups * TILED_ROWS].reshape(TILED_ROWS, groups).view(row_part)
        right, scale_c, half_c = _lines(panel[panel_start:], groups, width, part)
        wide: Any = np.float32 if part is np.float32 else np.int64
        dots: NDArray[Any] = left.astype(wide) @ right.astype(wide).T
        if part is not np.float32:
            end = panel_start + (groups + 2) * width
            dots = dots - panel[end : end + width]
        scores = dots.astype(np.float32) * (scale_c * scale_r[:, None]) - half_c - half_r[:, None]
        for r in range(rows_of_block):
            out[out_start + r * stride : out_start + r * stride + width] = scores[r]

    return block


def _lines(words: I32, groups: int, width: int, part: type[np.generic]) -> tuple[NDArray[Any], F32, F32]:
    """Return the parts of each vector (width, parts), their scales and their half squares."""
    parts = np.ascontiguousarray(words[: groups * width].reshape(groups, width).T).view(part)
    after = words[groups * width : (groups + 2) * width].view(np.float32).reshape(2, width)
    return parts, after[0], after[1]


_float32 = intrinsic(_define(NARROW, _fused, floating=True))(_twin(NARROW, np.float32, np.float32))
_int16 = intrinsic(_define(NARROW, _pairs_x86, floating=False))(_twin(NARROW, np.int16, np.int16))
_int16_portable = intrinsic(_define(NARROW, _portable(16, unsigned_rows=False), floating=False))(_int16.twin)
_int8 = intrinsic(_define(WIDE, _quads_x86, floating=False))(_twin(WIDE, np.int8, np.uint8))
_int8_portable = intrinsic(_define(WIDE, _portable(8, unsigned_rows=True), floating=False))(_int8.twin)
_int8_tiled = intrinsic(_define_tiles)(_twin(WIDE, np.int8, np.uint8, TILED_ROWS))


def _nothing() -> None:
    """Stand for what only registers know of."""


_open_tiles, _close_tiles = intrinsic(_define_open)(_nothing), intrinsic(_define_close)(_nothing)


def _examples() -> tuple[object, ...]:
    return np.zeros(3 * 6, np.int32), np.zeros(4 * 64, np.int32), 1, 1, np.zeros((6, 64), np.float32)


@kernel(examples=[_examples])
def score_float32(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Scores of a tile of pairs, in float32.

    Parameters
    ----------
    rows : int32 (blocks · 6 · (groups + 2),)
        Blocks of six rows, as `lamina_kernels.hdbscan.packed` makes them.
    panels : int32 (at least count · columns · (groups + 3),)
        Panels of 16 columns (64 with int8), the first of which is the first of the tile.
    groups : int
        Words of a row; at least 1.
    count : int
        Panels of the tile.
    out : float32 (blocks · 6, at least count · columns)
        Written.

    Notes
    -----
    O(rows · columns · d). A panel stays in the first cache while all rows pass by.
    """
    flat = out.reshape(out.size)
    for p in range(count):
        for block in range(out.shape[0] // ROWS):
            _float32(
                rows, block * ROWS * (groups + 2), panels, p * 16 * (groups + 3), groups,
                flat, block * ROWS * out.shape[1] + p * 16, out.shape[1],
            )  # fmt: skip


@kernel(examples=[_examples])
def _score_int16(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Scores of a tile of pairs, in int16, by an instruction of AVX2; see `score_float32`.

    Parameters
    ----------
    rows, panels : int32
    groups, count : int
    out : float32 (blocks · 6, at least count · columns)
        Written.
    """
    flat = out.reshape(out.size)
    for p in range(count):
        for block in range(out.shape[0] // ROWS):
            _int16(
                rows, block * ROWS * (groups + 2), panels, p * 16 * (groups + 3), groups,
                flat, block * ROWS * out.shape[1] + p * 16, out.shape[1],
            )  # fmt: skip


@kernel(examples=[_examples])
def score_int16_portable(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Scores of a tile of pairs, in int16, on any processor; see `score_float32`.

    Parameters
    ----------
    rows, panels : int32
    groups, count : int
    out : float32 (blocks · 6, at least count · columns)
        Written.
    """
    flat = out.reshape(out.size)
    for p in range(count):
        for block in range(out.shape[0] // ROWS):
            _int16_portable(
                rows, block * ROWS * (groups + 2), panels, p * 16 * (groups + 3), groups,
                flat, block * ROWS * out.shape[1] + p * 16, out.shape[1],
            )  # fmt: skip


@kernel(examples=[_examples])
def _score_int8(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Score a tile of pairs in int8, by an instruction of AVX-512 VNNI; see `score_float32`.

    Parameters
    ----------
    rows, panels : int32
    groups, count : int
    out : float32 (blocks · 6, at least count · columns)
        Written.
    """
    flat = out.reshape(out.size)
    for p in range(count):
        for block in range(out.shape[0] // ROWS):
            _int8(
                rows, block * ROWS * (groups + 2), panels, p * 64 * (groups + 3), groups,
                flat, block * ROWS * out.shape[1] + p * 64, out.shape[1],
            )  # fmt: skip


@kernel(examples=[_examples])
def score_int8_portable(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Scores of a tile of pairs, in int8, on any processor; see `score_float32`.

    Parameters
    ----------
    rows, panels : int32
    groups, count : int
    out : float32 (blocks · 6, at least count · columns)
        Written.
    """
    flat = out.reshape(out.size)
    for p in range(count):
        for block in range(out.shape[0] // ROWS):
            _int8_portable(
                rows, block * ROWS * (groups + 2), panels, p * 64 * (groups + 3), groups,
                flat, block * ROWS * out.shape[1] + p * 64, out.shape[1],
            )  # fmt: skip


@kernel(examples=[_examples])
def _score_int8_tiled(rows: I32, panels: I32, groups: int, count: int, out: F32) -> None:
    """Score a tile of pairs in int8, by an instruction of AMX; see `score_float32`.

    Parameters
    ----------
    rows : int32 (blocks · 16 · (groups + 2),)
        Blocks of sixteen rows, as `lamina_kernels.hdbscan.packed` makes them.
    panels : int32
    groups : int
        A multiple of 16.
    count : int
    out : float32 (blocks · 16, at least count · columns)
        Written.

    Notes
    -----
    Three times as fast where all three arrays begin at a multiple of 64 bytes.
    """
    flat = out.reshape(out.size)
    _open_tiles()
    for p in range(count):
        for block in range(out.shape[0] // 16):
            _int8_tiled(
                rows, block * 16 * (groups + 2), panels, p * 64 * (groups + 3), groups,
                flat, block * 16 * out.shape[1] + p * 64, out.shape[1],
            )  # fmt: skip
    _close_tiles()
