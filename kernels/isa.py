"""The instructions the kernel asks for by name, one function each; nothing here knows about attention.

Refuses: packed f32 arithmetic (it never overlaps the matrix unit), OCML functions, async marks (they add hidden
kernel arguments).
"""

from __future__ import annotations

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import llvm
from flydsl._mlir.dialects import rocdl as raw_rocdl
from flydsl.expr import rocdl
from flydsl.expr.typing import as_ir_value as raw

from .traits import LANES

_ROW_ROTATE = 0x120  # DPP control row_ror:0


def _i32():
    return ir.IntegerType.get_signless(32)


def _i64():
    return ir.IntegerType.get_signless(64)


def _f32():
    return ir.F32Type.get()


def _vector(count, element):
    return ir.VectorType.get([count], element)


# ---------------------------------------------------------------------------------------------------- scalar values
def uniform(value):
    """The value, known to be the same in all lanes: into a scalar register."""
    return fx.Int32(rocdl.readfirstlane(_i32(), value))


def uniform64(value):
    return fx.Int64(rocdl.readfirstlane(_i64(), value))


def load_scalar(pointer, index):
    """Element `index` of an i32 pointer by s_load_dword, whatever was stored before it."""
    return fx.Int32(llvm.LoadOp(_i32(), (pointer + index).llvm_ptr, alignment=4, invariant=True).result)


def load_scalar_f32(pointer):
    return fx.Float32(llvm.LoadOp(_f32(), pointer.llvm_ptr, alignment=4, invariant=True).result)


def load_gathered(pointer):
    """One i32 a lane from per-lane addresses."""
    return fx.Int32(llvm.LoadOp(_i32(), pointer.llvm_ptr, alignment=4, invariant=True).result)


def load_lanes(pointer, index):
    """Element `index` of an i32 pointer, an index a lane."""
    return load_gathered(pointer + index)


def is_null(pointer):
    return fx.Int64(fx.ptrtoint(pointer)) == fx.Int64(0)


def any_lane(condition):
    """True in a scalar register when the condition holds in some lane."""
    return fx.Int64(rocdl.ballot(_i64(), condition)) != fx.Int64(0)


def lanes_where(condition):
    """A bit for each lane."""
    return fx.Int64(rocdl.ballot(_i64(), condition))


def lanes_below(mask):
    """How many bits of the mask belong to lanes below this one."""
    low, high = fx.Int32(mask), fx.Int32(mask >> 32)
    count = fx.Int32(llvm.call_intrinsic(_i32(), "llvm.amdgcn.mbcnt.lo", [raw(low), raw(fx.Int32(0))], [], []))
    return fx.Int32(llvm.call_intrinsic(_i32(), "llvm.amdgcn.mbcnt.hi", [raw(high), raw(count)], [], []))


def count_lanes(mask):
    return fx.Int32(fx.Int64(llvm.intr_ctpop(raw(mask))))


def first_lane(mask):
    """Number of the lowest bit that is set; 0 when none is."""
    found = fx.Int32(fx.Int64(llvm.intr_cttz(raw(mask), False)))
    return found & (LANES - 1)


def leading_zeros(value):
    return fx.Int32(llvm.intr_ctlz(raw(value), False))


def lane_value(value, lane):
    """The value of one lane, a scalar."""
    return fx.Int32(rocdl.readlane(_i32(), raw(value), raw(lane)))


def _rotated(value, lanes):
    """Each row of sixteen lanes rotated."""
    control = _ROW_ROTATE + lanes
    return fx.Int32(raw_rocdl.update_dpp(_i32(), raw(value), raw(value), control, 15, 15, False))


def reduce_lanes(value, combine):
    """combine over all 64 lanes (commutative, associative), as a scalar."""
    for lanes in (8, 4, 2, 1):
        value = combine(value, _rotated(value, lanes))
    for swap in (raw_rocdl.permlane16_swap, raw_rocdl.permlane32_swap):
        pair = swap(ir.Type.parse("!llvm.struct<(i32, i32)>"), raw(value), raw(value), False, False)
        value = combine(*(fx.Int32(llvm.extractvalue(_i32(), pair, [i])) for i in range(2)))
    return uniform(value)


def undefined_i32(count):
    return fx.Vector(llvm.mlir_undef(_vector(count, _i32())), dtype=fx.Int32)


def undefined_f32(count):
    return fx.Vector(llvm.mlir_undef(_vector(count, _f32())), dtype=fx.Float32)


# ------------------------------------------------------------------------------------------------------- arithmetic
def exp2(x):
    return fx.Float32(rocdl.exp2(_f32(), raw(x)))


def log2(x):
    return fx.Float32(llvm.call_intrinsic(_f32(), "llvm.amdgcn.log", [raw(x)], [], []))


def reciprocal(x):
    return fx.Float32(rocdl.rcp(_f32(), raw(x)))


def fma(a, b, c):
    return fx.fma(a, b, c)


def maximum_or_nan(a, b):
    """NaN if either is NaN (v_maximum3_f32)."""
    return fx.maximumf(a, b)


def maximum(a, b):
    return fx.maxnumf(a, b, fastmath="nnan")


def pack_fp8(a, b, c, d):
    """Four e4m3 bytes of a word, a lowest. Above 464 the result is NaN: the caller's bound keeps out of there."""
    nothing = llvm.mlir_undef(_i32())  # both halves of the word are written
    low = rocdl.cvt_pk_fp8_f32(_i32(), a, b, nothing, False)
    return fx.Int32(rocdl.cvt_pk_fp8_f32(_i32(), c, d, low, True))


def pack_bf16(a, b):
    return fx.Vector.from_elements([a, b], fx.Float32).to(fx.BFloat16).bitcast(fx.Int32)[0]


def swap_halves(a, b):
    """Lanes 32..63 of a against lanes 0..31 of b, both Int32."""
    pair = raw_rocdl.permlane32_swap(ir.Type.parse("!llvm.struct<(i32, i32)>"), raw(a), raw(b), False, False)
    return fx.Int32(llvm.extractvalue(_i32(), pair, [0])), fx.Int32(llvm.extractvalue(_i32(), pair, [1]))


def with_other_half(x, combine):
    """combine(x of lane l, x of lane l ^ 32)."""
    a, b = swap_halves(x.bitcast(fx.Int32), x.bitcast(fx.Int32))
    return combine(a.bitcast(fx.Float32), b.bitcast(fx.Float32))


def multiply_32x32x64(a, b, c):
    """c + a * b for 64 FP8 values a lane pair; a, b: i32x8, c: f32x16. Without block scales (all 1)."""
    result = rocdl.mfma_scale_f32_32x32x64_f8f6f4(_vector(16, _f32()), [a, b, c, 0, 0, 0, 0, 0, 0])
    return fx.Vector(result, dtype=fx.Float32)


def multiply_16x16x128(a, b, c):
    result = rocdl.mfma_scale_f32_16x16x128_f8f6f4(_vector(4, _f32()), [a, b, c, 0, 0, 0, 0, 0, 0])
    return fx.Vector(result, dtype=fx.Float32)


# ----------------------------------------------------------------------------------------------------------- memory
def at_global(pointer, alignment=16):
    return fx.recast_iter(fx.PointerType.get(_i32(), fx.AddressSpace.Global, alignment), pointer)


def bytes_at(address):
    """A byte pointer from a 64-bit address."""
    return fx.inttoptr(fx.PointerType.get(fx.Uint8.ir_type, fx.AddressSpace.Global, 4), address)


def load_global(pointer, words=4):
    """`words` dwords a lane from an address that every lane computes."""
    return fx.generic_load(at_global(pointer), count=words)


def store_global(pointer, value, alignment=16):
    fx.generic_store(at_global(pointer, alignment), value)


def _at_lds(pointer, alignment=16):
    return fx.recast_iter(fx.PointerType.get(_i32(), fx.AddressSpace.Shared, alignment), pointer)


def read_lds(pointer):
    """ds_read_b128."""
    return fx.generic_load(_at_lds(pointer), count=4)


def write_lds(pointer, value):
    fx.generic_store(_at_lds(pointer), value)


def read_lds_transposed(pointer):
    """ds_read_b64_tr_b8: 8 bytes of one column out of an 8 x 16 byte block that sixteen lanes read together."""
    result = raw_rocdl.ds_read_tr8_b64_(_vector(2, _i32()), pointer.llvm_ptr)
    return fx.Vector(getattr(result, "result", result), dtype=fx.Int32)


def join(parts):
    """Short vectors as one register group."""
    return fx.Vector.from_elements([part[i] for part in parts for i in range(part.numel)], fx.Int32)


def buffer_of(pointer, size):
    """A buffer descriptor in scalar registers; `size` bytes can be read through it, zero beyond."""
    return rocdl.get_buffer_rsrc(rocdl.make_buffer_ptr(pointer, num_records_bytes=fx.Int64(size)))


def dma_buffer(buffer, destination, lane_offset, offset):
    """16 bytes a lane from a descriptor into LDS: lane i lands at destination + 16 * i (a scalar address)."""
    cache = ir.IntegerAttr.get(_i32(), 0)
    size, zero = raw(fx.Int32(16)), raw(fx.Int32(0))
    raw_rocdl.raw_ptr_buffer_load_async_lds(
        buffer, destination.llvm_ptr, size, raw(lane_offset), raw(offset), zero, aux=cache
    )


def dma_global(source, destination, offset):
    """The same from an address of each lane; the constant `offset` counts on both sides."""
    cache = ir.IntegerAttr.get(_i32(), 0)
    raw_rocdl.global_load_async_lds(source.llvm_ptr, destination.llvm_ptr, 16, offset, aux=cache)


# --------------------------------------------------------------------------------------------------- order and waits
def barrier():
    """s_barrier and nothing else: no wait, but nothing is scheduled across it."""
    rocdl.sched_barrier(0)
    rocdl.s_barrier()
    rocdl.sched_barrier(0)


def bare_barrier():
    """A barrier alone in its block: it puts one group of waves a phase behind the other."""
    rocdl.s_barrier()


def fence():
    """The scheduler moves nothing across."""
    rocdl.sched_barrier(0)


def wait_loads(newer):
    """Until at most `newer` vector memory instructions of this wave are in flight."""
    rocdl.s_waitcnt(vmcnt=newer)


def wait_lds():
    """Until this wave's LDS instructions are done."""
    rocdl.s_waitcnt(lgkmcnt=0)


def priority(level):
    rocdl.s_setprio(level)
