"""Operations as LLVM IR and their operands: plain arithmetic and amdgcn intrinsics.

Owns: which operands LLVM is no judge of (`skips`), each with its reason.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

BITS = {
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
    "<2 x half>": 32,
    "<2 x i16>": 32,
    "<2 x bfloat>": 32,
    "<2 x float>": 64,
}
OVERLOAD = {
    "half": "f16",
    "bfloat": "bf16",
    "float": "f32",
    "double": "f64",
    "<2 x half>": "v2f16",
    "<2 x i16>": "v2i16",
}


def bits_of(kind):
    return BITS.get(kind) or int(kind[1:])


def overload(kind):
    return OVERLOAD.get(kind, kind)


def numbers(text):
    return [int(x, 16) for x in text.split()]


# Zero, denormals, the smallest and the greatest normal numbers, halves and ties of conversions, infinities, quiet and signaling NaN.
F32 = numbers(
    "0 1 7fffff 800000 3f800000 3f000000 3fc00000 40200000 7f7fffff 7f800000 7fc00000 7f800001 40490fdb "
    "4b000001 4affffff 4f000000 4effffff 4f800000 5f000000 5f800000 477fe000 477fefff 477ff000 33000000 "
    "33000001 387fc000 387fe000 3f801000 3f803000 3f808000 3f818000 3eaaaaab 7e800000 7f000000 400000 "
    "3e800000 43800000 437fffff 3f7fffff 7fbfffff "
)
F64 = numbers(
    "0 1 fffffffffffff 10000000000000 3ff0000000000000 3fe0000000000000 4004000000000000 7fefffffffffffff "
    "7ff0000000000000 7ff8000000000000 7ff0000000000001 41dfffffffe00000 41e0000000000000 "
    "41effffffff00000 43e0000000000000 43f0000000000000 47efffffe0000000 47effffff0000000 "
    "36a0000000000000 3690000000000000 380fffffe0000000 3ff0000010000000 3ff0000030000000 "
    "400921fb54442d18 4330000000000001 4340000000000000 "
)
F16 = numbers("0 1 3ff 400 3c00 3800 3e00 4100 7bff 7c00 7e00 7c01 4248 6400 6801 77ff ")
BF16 = [x >> 16 for x in F32 if not x & 0xFFFF] + [1, 0x7F81, 0x3F81]
INTEGERS = numbers(
    "0 1 2 5 8 d 10 18 1f 20 21 3f 40 7f 80 ff 100 7fff 8000 ffff 10000 ffffff 1000000 7fffffff 80000000 "
    "80000001 ffffffff fffffffe 12345678 c020d07 ffffff80 ff7fffff 100000000 7fffffffffffffff "
    "8000000000000000 ffffffffffffffff 123456789abcdef 20000000000001 ffffffff00000000 "
)


def edges(kind):
    positive = {"float": F32, "double": F64, "half": F16, "bfloat": BF16}.get(kind)
    if positive:
        return positive + [x | 1 << bits_of(kind) - 1 for x in positive]
    if kind[0] == "<":
        one = edges(kind[5:-1])
        return [a | b << bits_of(kind) // 2 for a, b in zip(one, one[7:] + one[:7])]
    return list(dict.fromkeys(x & (1 << bits_of(kind)) - 1 for x in INTEGERS))


@dataclass(frozen=True)
class Operation:
    name: str
    operands: tuple
    result: str
    body: str  # from %a, %b, %c to %r
    tolerance: float = 0
    flush: bool = False  # denormals become zero
    ways: str = "vs"  # v: an element a lane, s: an element a wave, in scalar registers

    def rows(self, count=200):
        """Combinations of edges, all of them or as many as are asked for, spread evenly; then random bits."""
        every = [list(x) for x in product(*map(edges, self.operands))]
        rng = np.random.default_rng(len(self.name))
        if len(every) > count:
            every = [every[n] for n in rng.choice(len(every), count, replace=False)]
        for _ in range(24):
            every.append(
                [
                    int(x) & (1 << bits_of(k)) - 1
                    for x, k in zip(rng.integers(0, 1 << 64, 3, dtype=np.uint64), self.operands)
                ]
            )
        return every


def call(name, operands, result, *, suffix=None, extra="", tolerance=0, title=None):
    """An intrinsic; suffix: which types its name carries ("" for none, by default the first operand's)."""
    full = "llvm." + name + ("." + overload(operands[0]) if suffix is None else suffix)
    names = ", ".join(f"{k} %{n}" for k, n in zip(operands, "abc")) + extra
    return Operation(
        title or f"{name}.{overload(operands[0])}",
        tuple(operands),
        result,
        f"%r = call {result} @{full}({names})",
        tolerance,
    )


def plain(text, operands, result, title=None):
    return Operation(title or f"{text.split(' %')[0]}", tuple(operands), result, f"%r = {text}")


def operations():
    out = []
    floats = ("half", "float", "double")
    for k in floats:
        for op in ("fadd", "fsub", "fmul", "fdiv"):
            out.append(plain(f"{op} {k} %a, %b", [k, k], k))
        for op in ("floor", "ceil", "trunc", "rint", "roundeven", "round", "fabs", "canonicalize", "sqrt"):
            out.append(call(op, [k], k))
        for op in ("minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "copysign"):
            out.append(call(op, [k, k], k))
        out.append(call("fma", [k, k, k], k))
        out.append(call("ldexp", [k, "i32"], k, suffix=f".{overload(k)}.i32"))
        out.append(call("amdgcn.frexp.mant", [k], k))
        exponent = "i16" if k == "half" else "i32"
        out.append(call("amdgcn.frexp.exp", [k], exponent, suffix=f".{exponent}.{overload(k)}"))
        out.append(call("amdgcn.fract", [k], k))
        out.append(call("amdgcn.rcp", [k], k))
        out.append(call("amdgcn.class", [k, "i32"], "i1"))
        for size in ("i16", "i32", "i64"):
            for sign in "su":
                out.append(
                    call(
                        f"fpto{sign}i.sat",
                        [k],
                        size,
                        suffix=f".{size}.{overload(k)}",
                        title=f"fpto{sign}i.sat.{size}.{overload(k)}",
                    )
                )
                out.append(plain(f"{sign}itofp {size} %a to {k}", [size], k, title=f"{sign}itofp.{size}.{overload(k)}"))
        for condition in ("oeq", "olt", "ole", "one", "ord", "ueq", "ult", "ule", "une", "uno"):
            out.append(plain(f"fcmp {condition} {k} %a, %b", [k, k], "i1"))
    for wide, narrow in (
        ("float", "half"),
        ("double", "float"),
        ("double", "half"),
        ("float", "bfloat"),
        ("double", "bfloat"),
    ):
        out.append(
            plain(
                f"fptrunc {wide} %a to {narrow}", [wide], narrow, title=f"fptrunc.{overload(wide)}.{overload(narrow)}"
            )
        )
        out.append(
            plain(f"fpext {narrow} %a to {wide}", [narrow], wide, title=f"fpext.{overload(narrow)}.{overload(wide)}")
        )
    for op in ("fadd", "fmul", "fsub"):
        out.append(plain(f"{op} bfloat %a, %b", ["bfloat", "bfloat"], "bfloat"))
        out.append(plain(f"{op} <2 x half> %a, %b", ["<2 x half>"] * 2, "<2 x half>"))
    out.append(call("fma", ["<2 x half>"] * 3, "<2 x half>"))
    for op in ("minnum", "maxnum", "minimum", "maximum"):
        out.append(call(op, ["<2 x half>"] * 2, "<2 x half>"))
    f = "float"
    out.append(call("amdgcn.fmed3", [f, f, f], f))
    out.append(call("amdgcn.fmed3", ["half"] * 3, "half"))
    out.append(call("amdgcn.fmul.legacy", [f, f], f, suffix=""))
    out.append(call("amdgcn.cvt.pkrtz", [f, f], "<2 x half>", suffix=""))
    out.append(call("amdgcn.trig.preop", ["double", "i32"], "double"))
    out.append(call("amdgcn.log", [f], f, tolerance=2e-7))
    out.append(call("amdgcn.exp2", [f], f, tolerance=2e-7))
    out.append(call("amdgcn.sin", [f], f, tolerance=2e-7))
    out.append(call("amdgcn.cos", [f], f, tolerance=2e-7))
    i = "i32"
    out.append(call("amdgcn.perm", [i, i, i], i, suffix=""))
    out.append(call("amdgcn.ubfe", [i, i, i], i))
    out.append(call("amdgcn.sbfe", [i, i, i], i))
    out.append(call("amdgcn.cvt.off.f32.i4", [i], f, suffix=""))
    out.append(replace(call("amdgcn.s.bitreplicate", [i], "i64", suffix=""), ways="s"))
    out.append(replace(call("amdgcn.s.quadmask", [i], i), ways="s"))
    out.append(replace(call("amdgcn.s.quadmask", ["i64"], "i64"), ways="s"))
    out.append(replace(call("amdgcn.s.wqm", [i], i), ways="s"))
    out.append(replace(call("amdgcn.s.wqm", ["i64"], "i64"), ways="s"))
    # LLVM folds the sums and the exclusive or of one value over a wave to that value, whatever the number of lanes.
    for op in ("umin", "umax", "min", "max", "and", "or"):
        out.append(replace(call(f"amdgcn.wave.reduce.{op}", [i], i, extra=", i32 0"), ways="s"))
    for k in ("i16", "i32", "i64"):
        for op in ("add", "sub", "mul", "and", "or", "xor"):
            out.append(plain(f"{op} {k} %a, %b", [k, k], k))
        for op in ("shl", "lshr", "ashr"):
            body = f"%s = and {k} %b, {bits_of(k) - 1}\n %r = {op} {k} %a, %s"
            out.append(Operation(f"{op}.{k}", (k, k), k, body))
        for op in ("udiv", "urem", "sdiv", "srem"):
            # Division by zero and the one overflowing quotient are not LLVM's to define.
            body = f"%s = or {k} %b, 2\n %r = {op} {k} %a, %s"
            out.append(Operation(f"{op}.{k}", (k, k), k, body))
        for op in ("fshl", "fshr"):
            out.append(call(op, [k, k, k], k))
        for op in ("uadd.sat", "usub.sat", "sadd.sat", "ssub.sat", "smin", "smax", "umin", "umax"):
            out.append(call(op, [k, k], k))
        for op in ("bitreverse", "bswap", "ctpop"):
            out.append(call(op, [k], k))
        for op in ("ctlz", "cttz", "abs"):
            out.append(call(op, [k], k, extra=", i1 false"))
        for condition in ("eq", "slt", "sle", "ult", "ule"):
            out.append(plain(f"icmp {condition} {k} %a, %b", [k, k], "i1"))
    for wide in ("i128",):
        for sign in "sz":
            body = f"%p = {sign}ext i64 %a to {wide}\n %q = {sign}ext i64 %b to {wide}\n %m = mul {wide} %p, %q\n %h = lshr {wide} %m, 64\n %r = trunc {wide} %h to i64"
            out.append(Operation(f"mulhi.{sign}", ("i64", "i64"), "i64", body))
    return out + [replace(op, name=op.name + ".flush", flush=True) for op in out if op.name in FLUSHED]


# What LLVM folds with MODE's denormals in mind; its other folds (floor, min, fma, ldexp, conversions) keep them.
KINDS = ("float", "half", "double", "<2 x half>", "<2 x float>")
FLUSHED = {f"canonicalize.{overload(k)}" for k in KINDS}
FLUSHED |= {f"{op} {k}" for op in ("fadd", "fsub", "fmul", "fdiv", "fcmp olt", "fcmp oeq", "fcmp une") for k in KINDS}


def is_nan(kind, values):
    exponent = {"half": 0x7C00, "bfloat": 0x7F80, "float": 0x7F800000, "double": 0x7FF << 52}.get(kind)
    values = np.asarray(values, np.uint64)
    return (
        (values & np.uint64((1 << bits_of(kind) - 1) - 1)) > np.uint64(exponent)
        if exponent
        else np.zeros(values.shape, bool)
    )


def skips(op, row, want):
    """True where LLVM's answer binds nobody."""
    nan = [bool(is_nan(k, x)) for k, x in zip(op.operands, row)]
    if op.name == "amdgcn.rcp.f32":  # its own comment: more precise than the instruction, which flushes denormals
        return any(0 < x & 0x7FFFFFFF < 0x800000 for x in (row[0], want))
    if op.name.startswith("amdgcn.fmed3"):  # one operand NaN and another infinite: depends on which fold comes first
        infinity = 0x7C00 if op.result == "half" else 0x7F800000
        return any(nan) and any(x & (infinity | infinity - 1) == infinity for x in row)
    if op.name.startswith("amdgcn.trig.preop"):  # NaN gives NaN; the ISA's formula sees an exponent only
        return nan[0]
    if op.name.startswith(("minnum3", "maxnum3")):  # reassociated, as if there were no signaling NaN
        return any(nan)
    return False
