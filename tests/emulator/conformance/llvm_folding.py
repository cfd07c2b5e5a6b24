"""LLVM IR of the operations (llvm_operations.py), twice: on operands from memory, and on the same operands as constants for LLVM to fold."""

import re
import subprocess

from .llvm_operations import bits_of


def from_bits(kind, name, value):
    """IR that makes %name of the kind from an integer value of its width."""
    return f" %{name} = bitcast i{bits_of(kind)} {value} to {kind}\n"


def to_i64(kind):
    n = bits_of(kind)
    return f" %i = bitcast {kind} %r to i{n}\n" + (
        f" %z = zext i{n} %i to i64\n" if n < 64 else " %z = bitcast i64 %i to i64\n"
    )


ATTRIBUTES = "".join(
    f'attributes #{n} = {{ "amdgpu-flat-work-group-size"="64,64" "target-cpu"="gfx950" {denormals} }}\n'
    for n, denormals in enumerate(["", '"denormal-fp-math"="preserve-sign,preserve-sign"'])
)


def declarations(ops):
    found = {}
    for op in ops:
        for m in re.finditer(r"call (.+?) @(llvm\.[\w.]+)\((.*)\)$", op.body, re.M):
            kinds = ", ".join(
                a.rsplit(" ", 1)[0] + (" immarg" if a.endswith(" false") else "")
                for a in re.split(r", (?![^<]*>)", m[3])
            )
            found[m[2]] = f"declare {m[1]} @{m[2]}({kinds.replace(' immarg', '')})"
    return 'target triple = "amdgcn-amd-amdhsa"\n' + "\n".join(found.values()) + "\n"


def kernels(ops):
    """Two kernels an operation: v_*, an element a lane, and s_*, an element a workgroup of one wave (scalar operands)."""
    parts = [declarations(ops), "declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare i32 @llvm.amdgcn.workgroup.id.x()\n"]
    for n, op in enumerate(ops):
        for way in op.ways:
            loads = ""
            for name, kind in zip("abc", op.operands):
                width = bits_of(kind)
                loads += f" %k.p{name} = getelementptr i64, ptr addrspace(1) %in{name}, i64 %k.at\n"
                loads += (
                    f" %k.l{name} = load i{width}, ptr addrspace(1) %k.p{name}, align 8, !invariant.load !0\n"
                    + from_bits(kind, name, f"%k.l{name}")
                )
            index = " %k.g = call i32 @llvm.amdgcn.workgroup.id.x()\n %k.l = call i32 @llvm.amdgcn.workitem.id.x()\n"
            index += (
                " %k.b = shl i32 %k.g, 6\n %k.x = or i32 %k.b, %k.l\n" if way == "v" else " %k.x = or i32 %k.g, 0\n"
            )
            parts.append(
                f"define amdgpu_kernel void @{way}_{n}(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %ina, ptr addrspace(1) noalias %inb, "
                f"ptr addrspace(1) noalias %inc) #{op.flush:d} {{\n{index} %k.at = zext i32 %k.x to i64\n{loads} {op.body}\n{to_i64(op.result)}"
                f" %k.po = getelementptr i64, ptr addrspace(1) %out, i64 %k.at\n store i64 %z, ptr addrspace(1) %k.po\n ret void\n}}\n"
            )
    return "".join(parts) + "!0 = !{}\n" + ATTRIBUTES


def folded(opt, ops):
    """{operation: results by row, None where LLVM left the operation}."""
    parts = [declarations(ops)]
    for n, op in enumerate(ops):
        for m, row in enumerate(op.rows()):
            values = "".join(from_bits(k, name, x) for name, k, x in zip("abc", op.operands, row))
            parts.append(
                f"define i64 @f_{n}_{m}() #{op.flush:d} {{\n{values} {op.body}\n{to_i64(op.result)} ret i64 %z\n}}\n"
            )
    text = "".join(parts) + ATTRIBUTES
    done = subprocess.run([opt, "-S", "-passes=instcombine"], input=text, capture_output=True, text=True)
    assert not done.returncode, done.stderr[:2000]
    results = {op: [None] * len(op.rows()) for op in ops}
    for n, m, value in re.findall(
        r"define (?:noundef )?i64 @f_(\d+)_(\d+)\(\)[^{]*\{\n\s*ret i64 (-?\d+|poison|undef)\n\}", done.stdout
    ):
        if value.lstrip("-").isdigit():
            results[ops[int(n)]][int(m)] = int(value) % (1 << 64)
    return results
