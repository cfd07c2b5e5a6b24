"""What an instruction costs on one SIMD of gfx950, in engine clocks. Sources and doubts: docs/performance.md."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Costs:
    slot: int = 4  # a wave issues one instruction in so many clocks
    plain: int = 4  # VALU
    transcendental: int = 8
    packed: int = 4  # v_pk_*_f32: two elements
    quarter: int = 16  # 32-bit integer multiplication
    permlane: int = 8
    convert: int = 4
    mfma_port: int = 8  # an MFMA keeps the VALU port for its first clocks
    packed_beside_mfma: bool = False  # may v_pk_*_f32 run while an MFMA of its SIMD does
    packed_after_mfma: int = 12  # clocks that they keep away from the MFMA's end if not
    transcendental_latency: int = 8  # beyond its cost
    mask_latency: int = 12  # of a result in scalar registers, beyond its cost
    mfma_latency: int = 16  # beyond its time in the matrix unit
    lds_read: float = 256.0  # bytes a clock and CU
    lds_write: float = 128.0
    lds_latency: int = 64
    vmem: float = 64.0
    vmem_latency: int = 900
    smem_latency: int = 200
    most_lgkm: int = 15  # instructions in flight
    most_vm: int = 63
    barrier: int = 16
    branch_taken: int = 20
    branch_not_taken: int = 8
    simds: int = 4

    @classmethod
    def with_changes(cls, changes: dict[str, str]) -> Costs:
        """Costs with some fields given as text. ValueError names what is unknown."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        values = {}
        for name, text in changes.items():
            if name not in fields:
                raise ValueError(f"no cost is called {name!r}; there are {', '.join(sorted(fields))}")
            default = fields[name].default
            if isinstance(default, bool):
                if text not in ("true", "false"):
                    raise ValueError(f"{name} is true or false, not {text!r}")
                values[name] = text == "true"
            else:
                values[name] = type(default)(float(text))
        return cls(**values)


# The settings under which a claimed gain has to hold.
SETTINGS = {
    "default": {},
    "lds_latency=128": {"lds_latency": "128"},
    "mfma_port=16": {"mfma_port": "16"},
    "packed_beside_mfma": {"packed_beside_mfma": "true"},
    "convert=8": {"convert": "8"},
}
