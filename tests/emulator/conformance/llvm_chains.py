"""Chains of plain operations that the compiler joins in one instruction (three operands, packed, dot products, modifiers)."""

from .llvm_operations import Operation, call, overload, plain


def chain(name, operands, result, *steps):
    """Several operations that the compiler joins in one instruction; the last step makes %r."""
    return Operation(name, tuple(operands), result, "\n ".join(steps))


def chains():
    i, f, h, p16 = "i32", "float", "half", "<2 x i16>"
    three = [i, i, i]
    out = [
        chain("add3", three, i, "%x = add i32 %a, %b", "%r = add i32 %x, %c"),
        chain("or3", three, i, "%x = or i32 %a, %b", "%r = or i32 %x, %c"),
        chain("and_or", three, i, "%x = and i32 %a, %b", "%r = or i32 %x, %c"),
        chain("xad", three, i, "%x = xor i32 %a, %b", "%r = add i32 %x, %c"),
        chain("lshl_add", three, i, "%s = and i32 %b, 31", "%x = shl i32 %a, %s", "%r = add i32 %x, %c"),
        chain("lshl_or", three, i, "%s = and i32 %b, 31", "%x = shl i32 %a, %s", "%r = or i32 %x, %c"),
        chain("add_lshl", three, i, "%s = and i32 %c, 31", "%x = add i32 %a, %b", "%r = shl i32 %x, %s"),
        chain("lshl_add.i64", ["i64", "i64"], "i64", "%x = shl i64 %a, 3", "%r = add i64 %x, %b"),
        chain(
            "bfi", three, i, "%n = xor i32 %a, -1", "%x = and i32 %a, %b", "%y = and i32 %n, %c", "%r = or i32 %x, %y"
        ),
        chain(
            "bitop3",
            three,
            i,
            "%n = xor i32 %a, -1",
            "%x = and i32 %n, %b",
            "%y = xor i32 %x, %c",
            "%r = or i32 %y, %a",
        ),
        chain(
            "bitop3.i16",
            ["i16"] * 3,
            "i16",
            "%n = xor i16 %a, -1",
            "%x = and i16 %n, %b",
            "%y = xor i16 %x, %c",
            "%r = or i16 %y, %a",
        ),
        chain("xnor", [i, i], i, "%x = xor i32 %a, %b", "%r = xor i32 %x, -1"),
        chain(
            "bfm",
            [i, i],
            i,
            "%p = and i32 %a, 31",
            "%s = and i32 %b, 31",
            "%x = shl i32 1, %p",
            "%y = add i32 %x, -1",
            "%r = shl i32 %y, %s",
        ),
        chain(
            "sad.u32",
            three,
            i,
            "%g = call i32 @llvm.umax.i32(i32 %a, i32 %b)",
            "%l = call i32 @llvm.umin.i32(i32 %a, i32 %b)",
            "%d = sub i32 %g, %l",
            "%r = add i32 %d, %c",
        ),
        chain(
            "mad.u24",
            three,
            i,
            "%x = and i32 %a, 16777215",
            "%y = and i32 %b, 16777215",
            "%m = mul i32 %x, %y",
            "%r = add i32 %m, %c",
        ),
        chain(
            "mad.i24",
            three,
            i,
            "%x = shl i32 %a, 8",
            "%y = shl i32 %b, 8",
            "%u = ashr i32 %x, 8",
            "%v = ashr i32 %y, 8",
            "%m = mul i32 %u, %v",
            "%r = add i32 %m, %c",
        ),
        chain("mad.i16", ["i16"] * 3, "i16", "%m = mul i16 %a, %b", "%r = add i16 %m, %c"),
        chain("pk.mad.i16", [p16] * 3, p16, "%m = mul <2 x i16> %a, %b", "%r = add <2 x i16> %m, %c"),
        chain(
            "mix",
            [h, h, f],
            f,
            "%x = fpext half %a to float",
            "%y = fpext half %b to float",
            "%r = call float @llvm.fma.f32(float %x, float %y, float %c)",
        ),
        chain(
            "mixlo",
            [h, f, h],
            h,
            "%x = fpext half %a to float",
            "%y = fpext half %c to float",
            "%w = call float @llvm.fma.f32(float %x, float %b, float %y)",
            "%r = fptrunc float %w to half",
        ),
        chain(
            "modifiers",
            [f, f, f],
            f,
            "%x = fneg float %a",
            "%y = call float @llvm.fabs.f32(float %b)",
            "%r = call float @llvm.fma.f32(float %x, float %y, float %c)",
        ),
        chain(
            "clamp",
            [f, f],
            f,
            "%x = fadd float %a, %b",
            "%y = call float @llvm.maxnum.f32(float %x, float 0.0)",
            "%r = call float @llvm.minnum.f32(float %y, float 1.0)",
        ),
        chain("cvt.pk.bf16", ["<2 x float>"], "<2 x bfloat>", "%r = fptrunc <2 x float> %a to <2 x bfloat>"),
        chain("cvt.pk.f16", ["<2 x float>"], "<2 x half>", "%r = fptrunc <2 x float> %a to <2 x half>"),
        chain(
            "pk.fma.f32",
            ["<2 x float>"] * 3,
            "<2 x float>",
            "%r = call <2 x float> @llvm.fma.v2f32(<2 x float> %a, <2 x float> %b, <2 x float> %c)",
        ),
    ]
    for op in ("fadd", "fmul"):
        out.append(plain(f"{op} <2 x float> %a, %b", ["<2 x float>"] * 2, "<2 x float>"))
    for sign in "sz":
        out.append(
            chain(
                f"mad.i64.{sign}",
                [i, i, "i64"],
                "i64",
                f"%x = {sign}ext i32 %a to i64",
                f"%y = {sign}ext i32 %b to i64",
                "%m = mul i64 %x, %y",
                "%r = add i64 %m, %c",
            )
        )
        out.append(
            chain(
                f"mulhi.i32.{sign}",
                [i, i],
                i,
                f"%x = {sign}ext i32 %a to i64",
                f"%y = {sign}ext i32 %b to i64",
                "%m = mul i64 %x, %y",
                "%h = lshr i64 %m, 32",
                "%r = trunc i64 %h to i32",
            )
        )
        out.append(
            chain(
                f"mad.i32.i16.{sign}",
                ["i16", "i16", i],
                i,
                f"%x = {sign}ext i16 %a to i32",
                f"%y = {sign}ext i16 %b to i32",
                "%m = mul i32 %x, %y",
                "%r = add i32 %m, %c",
            )
        )
    for k in ("i16", i, f, h):
        tops = {"i16": ("smin", "smax", "umin", "umax"), i: ("smin", "smax", "umin", "umax")}.get(
            k, ("minnum", "maxnum", "minimum", "maximum")
        )
        for op in tops:
            inner, outer = (f"call {k} @llvm.{op}.{overload(k)}({k} %{x}, {k} %{y})" for x, y in ("ab", "xc"))
            out.append(chain(f"{op}3.{overload(k)}", [k] * 3, k, f"%x = {inner}", f"%r = {outer}"))
        if k[0] == "i":
            for s in "su":
                steps = [
                    f"call {k} @llvm.{s}{o}.{k}({k} %{x}, {k} %{y})"
                    for o, x, y in (("min", "a", "b"), ("max", "a", "b"), ("min", "h", "c"), ("max", "l", "m"))
                ]
                out.append(
                    chain(
                        f"{s}med3.{k}",
                        [k] * 3,
                        k,
                        f"%l = {steps[0]}",
                        f"%h = {steps[1]}",
                        f"%m = {steps[2]}",
                        f"%r = {steps[3]}",
                    )
                )
    for op in ("add", "sub", "mul"):
        out.append(plain(f"{op} <2 x i16> %a, %b", [p16, p16], p16))
    for op in ("shl", "lshr", "ashr"):
        out.append(
            chain(
                f"{op}.v2i16", [p16, p16], p16, "%s = and <2 x i16> %b, <i16 15, i16 15>", f"%r = {op} <2 x i16> %a, %s"
            )
        )
    for op in ("smin", "smax", "umin", "umax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"):
        out.append(call(op, [p16, p16], p16))
    for n in range(4):
        out.append(
            chain(
                f"ubyte{n}", [i], f, f"%s = lshr i32 %a, {8 * n}", "%x = and i32 %s, 255", "%r = uitofp i32 %x to float"
            )
        )
    for sign in "sz":
        for width, count in ((8, 4), (4, 8), (16, 2)):
            steps, total = [], "%c"
            for n in range(count):
                for x in "ab":
                    steps += [
                        f"%{x}s{n} = lshr i32 %{x}, {width * n}",
                        f"%{x}t{n} = trunc i32 %{x}s{n} to i{width}",
                        f"%{x}e{n} = {sign}ext i{width} %{x}t{n} to i32",
                    ]
                last = "%r" if n == count - 1 else f"%t{n}"
                steps += [f"%m{n} = mul i32 %ae{n}, %be{n}", f"{last} = add i32 {total}, %m{n}"]
                total = last
            out.append(chain(f"dot{count}.{sign}", three, i, *steps))
    out.append(call("amdgcn.sin", [h], h, tolerance=1e-3))
    out.append(call("amdgcn.cos", [h], h, tolerance=1e-3))
    return out
