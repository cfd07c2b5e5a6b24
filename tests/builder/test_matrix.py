"""One test per way in which a matrix can be wrong: the error names file, line and fix. And what a right one says."""

import re
from pathlib import Path

import pytest

from builder.matrix import ConfigError, read_matrix

ROOT = Path(__file__).resolve().parents[2]
GOOD = """\
arch: gfx950
matrix:
  - head_dims: [[128, 128], [192, 128]]
    page_sizes: [1, 64]
    batch_policies: [single, longest_first]
policy_rules:
  - policy: single
    when: {batch: {max: 1}}
  - policy: longest_first
"""
LAST_RULE = "  - policy: longest_first\n"


def read(tmp_path, text):
    path = tmp_path / "matrix.yaml"
    path.write_text(text)
    return read_matrix(path, shown="matrix.yaml")


def test_a_matrix_is_a_product(tmp_path):
    matrix = read(tmp_path, GOOD)
    assert len(matrix.variants) == 8
    assert matrix.variants[0].name == "paged_prefill_d128_v128_p1_linear_longest_first"
    assert [rule.policy for rule in matrix.rules] == ["single", "longest_first"]


def test_the_digest_is_of_what_is_said(tmp_path):
    digest = read(tmp_path, GOOD).digest
    assert read(tmp_path, "# a comment\n" + GOOD.replace("[1, 64]", "[64,   1]")).digest == digest
    assert read(tmp_path, GOOD.replace("max: 1", "max: 2")).digest != digest
    assert read(tmp_path, GOOD.replace("[1, 64]", "[64]")).digest != digest


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_the_shipped_matrices_are_right(path):
    assert read_matrix(path).variants


# what is replaced, by what, the line, the message, the fix
WRONG = {
    "unknown key": ("arch: gfx950", "arch: gfx950\ncolour: red", 2, "unknown key 'colour' in the file", "use arch, matrix, policy_rules"),
    "unknown key in a block": ("page_sizes", "page_size", 4, "unknown key 'page_size' in a block of matrix", "use head_dims, page_sizes"),
    "unknown key in a rule": ("when:", "if:", 8, "unknown key 'if' in a policy rule", "use policy, when"),
    "unknown bound": ("{max: 1}", "{most: 1}", 8, "unknown key 'most' in batch", "use min, max"),
    "missing key": ("arch: gfx950\n", "", 1, "the file has no key 'arch'", "add `arch:`"),
    "missing key in a block": ("    page_sizes: [1, 64]\n", "", 3, "a block of matrix has no key 'page_sizes'", "add `page_sizes:`"),
    "duplicate key": ("arch: gfx950", "arch: gfx950\narch: gfx950", 2, "duplicate key 'arch' in the file (first on line 1)", "remove one"),
    "duplicate quantity": ("{max: 1}}", "{max: 1}, batch: {max: 2}}", 8, "duplicate key 'batch' in when (first on line 8)", "remove one"),
    "another arch": ("gfx950", "gfx942", 1, "arch is 'gfx942'", "write gfx950"),
    "no as a string": ("arch: gfx950", "arch: no", 1, "arch is 'no', which YAML reads as bool, not a string", "put it in quotes"),
    "an octal": ("[1, 64]", "[1, 0100]", 4, "a page size is '0100', not an integer", "write a plain decimal number"),
    "a hexadecimal": ("[1, 64]", "[1, 0x40]", 4, "a page size is '0x40', not an integer", "write a plain decimal number"),
    "a quoted number": ("[1, 64]", "[1, '64']", 4, "a page size is '64', not an integer", "write a plain decimal number"),
    "a boolean": ("[1, 64]", "[true, 64]", 4, "a page size is 'true', not an integer", "write a plain decimal number"),
    "a float": ("max: 1", "max: 1.0", 8, "batch.max is '1.0', not an integer", "write a plain decimal number"),
    "a negative bound": ("max: 1", "max: -1", 8, "batch.max is '-1', not an integer", "write a plain decimal number"),
    "a scalar for a list": ("[1, 64]", "64", 4, "page_sizes is a scalar, not a list", "write [a, b, ...]"),
    "a list for a scalar": ("arch: gfx950", "arch: [gfx950]", 1, "arch is a list, not a string", "write one word"),
    "a list for a mapping": ("{batch: {max: 1}}", "[batch]", 8, "when is a list, not a mapping", "write `key: value` lines"),
    "an empty list": ("[1, 64]", "[]", 4, "page_sizes is an empty list", "name at least one, or remove the block"),
    "a page with no layout": ("[1, 64]", "[1, 32]", 4, "page size 32 has no KV layout", "use one of 1, 16, 64, 1024"),
    "a pair that no kernel has": ("[192, 128]", "[256, 128]", 3, "head_dims has [256, 128], which no kernel is written for", "[192, 128]"),
    "a pair of three": ("[192, 128]", "[192, 128, 1]", 3, "head_dims has [192, 128, 1]", "use one of [128, 128]"),
    "an unknown policy": ("[single,", "[double,", 5, "there is no batch policy 'double'", "use one of single, interleaved"),
    "the same page twice": ("[1, 64]", "[64, 64]", 4, "64 is twice in page_sizes", "remove one"),
    "the same pair twice": ("[192, 128]", "[128, 128]", 3, "(128, 128) is twice in head_dims", "remove one"),
    "a variant in two blocks": (
        "policy_rules:",
        "  - {head_dims: [[192, 128]], page_sizes: [64], batch_policies: [single]}\npolicy_rules:",
        6, "a second paged_prefill_d192_v128_p64_vectorized_5d_single", "remove it from one of the blocks",
    ),
    "an unknown quantity": ("{batch: {", "{beams: {", 8, "there is no quantity 'beams'", "use one of batch, total_q"),
    "a quantity of the variant": ("{batch: {", "{query_rows_per_workgroup: {", 8, "there is no quantity 'query_rows", "use one of batch"),
    "a condition without quantities": ("{batch: {max: 1}}", "{}", 8, "`when` has no quantity", "add one, or remove `when`"),
    "a quantity without bounds": ("{max: 1}", "{}", 8, "batch has no bound", "add `min: n`, `max: n` or both"),
    "bounds the wrong way round": ("{max: 1}", "{min: 2, max: 1}", 8, "batch.min is 2, above max 1", "exchange them"),
    "a last rule with a condition": (LAST_RULE, "", 7, "the last policy rule has a condition", "add a rule without `when` behind it"),
    "a rule behind one that takes all": (
        LAST_RULE, LAST_RULE * 2, 10, "no batch can reach this rule for 'longest_first'", "drop it",
    ),
    "rules that together leave nothing to the last": (
        LAST_RULE, "  - {policy: single, when: {batch: {min: 2}}}\n" + LAST_RULE, 10,
        "no batch can reach this rule for 'longest_first'", "drop it, and the `when` of the rule before it",
    ),
    "a rule that earlier ones cover together": (
        LAST_RULE,
        "  - {policy: single, when: {batch: {min: 2, max: 4}}}\n  - {policy: single, when: {batch: {max: 3}}}\n" + LAST_RULE,
        10, "no batch can reach this rule for 'single'", "move or remove it",
    ),
    "a rule for no batch at all": ("max: 1", "max: 0", 7, "no batch can reach this rule for 'single'", "move or remove it"),
    "a policy without a rule": (
        "  - policy: single\n    when: {batch: {max: 1}}\n", "", 5, "'single' is built, but no rule leads to it", "add a rule for it",
    ),
    "a rule without its policy": (
        "[single, longest_first]", "[longest_first]", 7,
        "'single' is not built for head dims 128/128 with page size 1", "add it to the block",
    ),
    "a tab": ("matrix:", "matrix:\t- 1", 2, "not YAML", "correct the syntax"),
    "an open bracket": ("[1, 64]", "[1, 64", 5, "not YAML", "correct the syntax"),
    "nothing": (GOOD, "", 1, "the file is empty", "see configs/gfx950.yaml"),
    "only a scalar": (GOOD, "gfx950", 1, "the file is a scalar, not a mapping", "write `key: value` lines"),
    "two documents": (LAST_RULE, LAST_RULE + "---\narch: gfx950\n", 10, "not YAML", "correct the syntax"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_matrix(tmp_path, fault):
    old, new, line, message, fix = WRONG[fault]
    assert old in GOOD
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert re.match(rf"matrix\.yaml:{line}: {re.escape(message)}.*; fix: .*{re.escape(fix)}", str(raised.value)), str(
        raised.value
    )


def test_a_rule_that_earlier_ones_leave_something_of(tmp_path):
    """Two quantities: the earlier boxes cover each edge of this one, but not its inside."""
    rules = (
        "  - {policy: single, when: {batch: {max: 8}, total_q: {max: 8}}}\n"
        "  - {policy: single, when: {batch: {max: 8}, total_q: {min: 10}}}\n"
        "  - {policy: longest_first, when: {batch: {max: 8}}}\n"
    )
    assert len(read(tmp_path, GOOD.replace(LAST_RULE, rules + LAST_RULE).replace("max: 1}", "min: 99}")).rules) == 5


def test_a_file_that_is_not_there():
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file; fix: name one of configs/ with --config"):
        read_matrix("nowhere.yaml")


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml: cannot be read .*; fix: it must be a UTF-8 text file"):
        read_matrix(tmp_path / "binary.yaml")
