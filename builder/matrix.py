"""The matrix: a YAML file that says which variants are built, and which batch takes which policy.

    arch: gfx950
    matrix:                                  # blocks; each is a full product
      - head_dims: [[192, 128]]              # (Q and K, V and output)
        page_sizes: [1, 64]                  # the layout follows: 1 is linear, the others are vectorized_5d
        batch_policies: [single, longest_first]
    policy_rules:                            # the first that matches a batch is taken; the last has no condition
      - {policy: single, when: {batch: {max: 1}}}
      - {policy: longest_first}

Refused, with file, line and fix, before anything compiles: whatever strict_yaml refuses; a pair, page size or policy that no kernel
is written for; a variant that two blocks name; a rule that no batch reaches; a policy that is built but that no rule names; a rule
whose policy is not built for one of the shapes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import yaml

from paged_attn_runtime.manifest import ARCH, POLICY_QUANTITIES, Bounds, PolicyRule
from paged_attn_runtime.variant import BATCH_POLICIES, HEAD_DIM_PAIRS, PAGE_LAYOUT, Variant

from .policy_reach import dead_rules
from .strict_yaml import ConfigError, Document

__all__ = ["ConfigError", "Matrix", "read_matrix"]


@dataclasses.dataclass(frozen=True)
class Matrix:
    arch: str
    variants: tuple[Variant, ...]  # by name
    rules: tuple[PolicyRule, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of what the file says; comments and layout do not count."""
        said = {
            "arch": self.arch,
            "variants": [variant.name for variant in self.variants],
            "rules": [[rule.policy, {name: [b.min, b.max] for name, b in rule.when.items()}] for rule in self.rules],
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclasses.dataclass
class _Block:
    node: yaml.Node
    head_dims: list[tuple[int, int]]
    page_sizes: list[int]
    policies: list[str]
    policy_nodes: list[yaml.Node]


def read_matrix(path: str | Path, shown: str | None = None) -> Matrix:
    """The matrix in a file; `shown` is how messages call it."""
    document = Document(Path(path), shown or str(path))
    members = document.members(document.root, "the file", ("arch", "matrix", "policy_rules"))
    arch = document.text(members["arch"], "arch")
    if arch != ARCH:
        raise document.error(members["arch"], f"arch is {arch!r}", f"write {ARCH}, the one that is supported")
    blocks = document.items(members["matrix"], "matrix", lambda node, _: _read_block(document, node), distinct=False)
    rules_node = members["policy_rules"]
    rules = document.items(rules_node, "policy_rules", lambda node, _: _read_rule(document, node), distinct=False)
    _check_rules(document, rules_node, rules)
    variants = _expand(document, blocks)
    _check_policies(document, blocks, rules_node, rules)
    return Matrix(arch, tuple(sorted(variants, key=lambda variant: variant.name)), tuple(rules))


def _read_block(document: Document, node: yaml.Node) -> _Block:
    members = document.members(node, "a block of matrix", ("head_dims", "page_sizes", "batch_policies"))
    return _Block(
        node=node,
        head_dims=document.items(members["head_dims"], "head_dims", lambda item, _: _read_pair(document, item)),
        page_sizes=document.items(members["page_sizes"], "page_sizes", lambda item, _: _read_page(document, item)),
        policies=document.items(
            members["batch_policies"], "batch_policies", lambda item, _: _read_policy(document, item)
        ),
        policy_nodes=members["batch_policies"].value,
    )


def _read_pair(document: Document, node: yaml.Node) -> tuple[int, int]:
    allowed = ", ".join(f"[{d}, {v}]" for d, v in HEAD_DIM_PAIRS)
    values = document.items(node, "a pair of head_dims", document.integer, distinct=False)
    if tuple(values) not in HEAD_DIM_PAIRS:
        raise document.error(node, f"head_dims has {values}, which no kernel is written for", f"use one of {allowed}")
    return values[0], values[1]


def _read_page(document: Document, node: yaml.Node) -> int:
    page = document.integer(node, "a page size")
    if page not in PAGE_LAYOUT:
        allowed = ", ".join(map(str, PAGE_LAYOUT))
        raise document.error(node, f"page size {page} has no KV layout", f"use one of {allowed}")
    return page


def _read_policy(document: Document, node: yaml.Node) -> str:
    policy = document.text(node, "a batch policy")
    if policy not in BATCH_POLICIES:
        raise document.error(node, f"there is no batch policy {policy!r}", f"use one of {', '.join(BATCH_POLICIES)}")
    return policy


def _read_rule(document: Document, node: yaml.Node) -> PolicyRule:
    members = document.members(node, "a policy rule", ("policy",), ("when",))
    policy = _read_policy(document, members["policy"])
    when: dict[str, Bounds] = {}
    if "when" in members:
        for name, (key_node, value) in document.any_members(members["when"], "when").items():
            if name not in POLICY_QUANTITIES:
                allowed = ", ".join(POLICY_QUANTITIES)
                raise document.error(key_node, f"there is no quantity {name!r}", f"use one of {allowed}")
            when[name] = _read_bounds(document, name, value)
        if not when:
            raise document.error(members["when"], "`when` has no quantity", "add one, or remove `when`")
    return PolicyRule(policy, when)


def _read_bounds(document: Document, name: str, node: yaml.Node) -> Bounds:
    members = document.members(node, name, (), ("min", "max"))
    if not members:
        raise document.error(node, f"{name} has no bound", "add `min: n`, `max: n` or both")
    ends = {key: document.integer(value, f"{name}.{key}") for key, value in members.items()}
    bounds = Bounds(ends.get("min"), ends.get("max"))
    if bounds.min is not None and bounds.max is not None and bounds.min > bounds.max:
        raise document.error(node, f"{name}.min is {bounds.min}, above max {bounds.max}", "exchange them")
    return bounds


def _check_rules(document: Document, node: yaml.Node, rules: list[PolicyRule]) -> None:
    if rules[-1].when:
        raise document.error(
            node.value[-1], "the last policy rule has a condition", "add a rule without `when` behind it"
        )
    dead = dead_rules(rules)
    if dead:
        at, rule = node.value[dead[0]], rules[dead[0]]
        what = f"no batch can reach this rule for {rule.policy!r}: the rules before it match first"
        last = dead[0] == len(rules) - 1
        raise document.error(at, what, "drop it, and the `when` of the rule before it" if last else "move or remove it")


def _expand(document: Document, blocks: list[_Block]) -> list[Variant]:
    variants: list[Variant] = []
    for block in blocks:
        for head_dim, v_head_dim in block.head_dims:
            for page in block.page_sizes:
                for policy in block.policies:
                    variant = Variant(head_dim, v_head_dim, page, PAGE_LAYOUT[page], policy)
                    if variant in variants:
                        raise document.error(block.node, f"a second {variant.name}", "remove it from one of the blocks")
                    variants.append(variant)
    return variants


def _check_policies(document: Document, blocks: list[_Block], node: yaml.Node, rules: list[PolicyRule]) -> None:
    """Built policies are named by a rule; a rule's policy is built for every shape."""
    named = {rule.policy for rule in rules}
    shapes: dict[tuple[tuple[int, int], int], set[str]] = {}
    for block in blocks:
        for policy, policy_node in zip(block.policies, block.policy_nodes):
            if policy not in named:
                raise document.error(policy_node, f"{policy!r} is built, but no rule leads to it", "add a rule for it")
        for pair in block.head_dims:
            for page in block.page_sizes:
                shapes.setdefault((pair, page), set()).update(block.policies)
    for (pair, page), built in shapes.items():
        for rule, rule_node in zip(rules, node.value):
            if rule.policy not in built:
                shape = f"head dims {pair[0]}/{pair[1]} with page size {page}"
                raise document.error(rule_node, f"{rule.policy!r} is not built for {shape}", "add it to the block")
