"""Prints a C header for one variant of a manifest: what docs/manifest.md says, as constants and functions.

python3 make_header.py prebuilt/gfx950 NAME > variant.h        (standard library only)
"""

import hashlib
import json
import sys
from pathlib import Path

SCHEMA_VERSION = 1
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "floor_div": "/"}


def in_c(expression):
    """A grid expression in C; `n` points to the quantities. They are not negative, so that / rounds down."""
    if isinstance(expression, int):
        return f"{expression}LL"
    if isinstance(expression, str):
        return f"n->{expression}"
    operation, first, *rest = expression
    text = in_c(first)
    for operand in map(in_c, rest):
        if operation in OPERATORS:
            text = f"({text} {OPERATORS[operation]} {operand})"
        elif operation == "ceil_div":
            text = f"(({text} + {operand} - 1) / {operand})"
        else:
            text = f"(({text}) {'<' if operation == 'min' else '>'} ({operand}) ? ({text}) : ({operand}))"
    return text


def header(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest["schema_version"] != SCHEMA_VERSION:
        sys.exit(f"schema_version is {manifest['schema_version']}; this script knows {SCHEMA_VERSION}")
    entry = next((entry for entry in manifest["variants"] if entry["name"] == name), None)
    if entry is None:
        sys.exit("no such variant; there are:\n  " + "\n  ".join(entry["name"] for entry in manifest["variants"]))
    data = (folder / entry["file"]).read_bytes()
    if len(data) != entry["bytes"] or hashlib.sha256(data).hexdigest() != entry["sha256"]:
        sys.exit(f"{entry['file']} is not the file that the manifest describes")
    key = entry["key"]
    lines = [
        f"/* {name}, from the manifest of {manifest['package']['name']} {manifest['package']['version']} */",
        f'#define OBJECT_FILE "{(folder / entry["file"]).resolve()}"',
        f"#define OBJECT_BYTES {entry['bytes']}",
        f'#define SYMBOL "{entry["symbol"]}"',
        f"#define HEAD_DIM {key['head_dim']}",
        f"#define V_HEAD_DIM {key['v_head_dim']}",
        f"#define PAGE_SIZE {key['page_size']}",
        f"#define VECTOR {1 if key['kv_layout'] == 'linear' else 16}  /* tokens or elements of an innermost group */",
        f"#define QUERY_ROWS_PER_WORKGROUP {entry['query_rows_per_workgroup']}",
        f"#define KERNARG_BYTES {entry['kernarg']['bytes']}",
        "static const unsigned block[3] = {" + ", ".join(map(str, entry["block"])) + "};",
        "struct quantities {",
        "  long long batch, total_q, max_seqlen_q, max_seqlen_k, num_q_heads, num_kv_heads, query_rows_per_workgroup;",
        "};",
    ]
    for axis in "xyz":
        value = in_c(entry["grid"][axis])
        lines.append(f"static long long grid_{axis}(const struct quantities *n) {{ return (void)n, {value}; }}")
    lines += ["/* offset of each argument in the kernarg segment */", "enum {"]
    lines += [f"  AT_{arg['name']} = {arg['offset']}," for arg in entry["kernarg"]["args"]]
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.stdout.write(header(Path(sys.argv[1]), sys.argv[2]))
