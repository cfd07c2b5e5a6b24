"""YAML that is read strictly, with the line of everything.

Refused: duplicate keys (PyYAML keeps the last without a word), unknown and missing keys, scalars of another type: `no` is no
string, `010` is not 8, `1_000`, `0x10` and `1:30` are no integers here. Every error carries the file, the line and the fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import yaml

T = TypeVar("T")

_INTEGER = re.compile(r"0|[1-9][0-9]*")
_KINDS = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a scalar"}


class ConfigError(Exception):
    """A matrix file that cannot be built from. The text is `file:line: what is wrong; fix: what to write`."""


class Document:
    """One YAML file. Its methods read nodes and raise ConfigError with the node's line."""

    def __init__(self, path: Path, shown: str) -> None:
        self.shown = shown
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ConfigError(f"{shown}: no such file; fix: name one of configs/ with --config") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{shown}: cannot be read ({error}); fix: it must be a UTF-8 text file") from None
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ConfigError(f"{shown}:{line}: not YAML ({error.problem}); fix: correct the syntax") from None
        except yaml.YAMLError as error:
            raise ConfigError(
                f"{shown}:1: not YAML ({' '.join(str(error).split())}); fix: correct the syntax"
            ) from None
        if root is None:
            raise ConfigError(f"{shown}:1: the file is empty; fix: see configs/gfx950.yaml")
        self.root = root

    def error(self, node: yaml.Node, what: str, fix: str) -> ConfigError:
        return ConfigError(f"{self.shown}:{node.start_mark.line + 1}: {what}; fix: {fix}")

    def members(
        self, node: yaml.Node, what: str, names: Sequence[str], optional: Sequence[str] = ()
    ) -> dict[str, yaml.Node]:
        """The values of a mapping with exactly these keys (those of `optional` may be left out)."""
        found = self.any_members(node, what)
        known = [*names, *optional]
        for key, (key_node, _) in found.items():
            if key not in known:
                raise self.error(key_node, f"unknown key {key!r} in {what}", f"use {', '.join(known)}")
        for name in names:
            if name not in found:
                raise self.error(node, f"{what} has no key {name!r}", f"add `{name}:`")
        return {key: value for key, (_, value) in found.items()}

    def any_members(self, node: yaml.Node, what: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Key node and value node of each member of a mapping, each key once."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} is {_KINDS[type(node)]}, not a mapping", "write `key: value` lines")
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            key = self.text(key_node, f"a key of {what}")
            if key in found:
                first = found[key][0].start_mark.line + 1
                raise self.error(key_node, f"duplicate key {key!r} in {what} (first on line {first})", "remove one")
            found[key] = (key_node, value_node)
        return found

    def items(self, node: yaml.Node, what: str, read: Callable[[yaml.Node, str], T], distinct: bool = True) -> list[T]:
        """The items of a list that is not empty, none of them twice unless `distinct` is False."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, f"{what} is {_KINDS[type(node)]}, not a list", "write [a, b, ...] or `- ` lines")
        if not node.value:
            raise self.error(node, f"{what} is an empty list", "name at least one, or remove the block")
        values: list[T] = []
        for item in node.value:
            value = read(item, f"an item of {what}")
            if distinct and value in values:
                raise self.error(item, f"{value!r} is twice in {what}", "remove one")
            values.append(value)
        return values

    def text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} is {_KINDS[type(node)]}, not a string", "write one word")
        if node.tag != "tag:yaml.org,2002:str":
            kind = node.tag.rpartition(":")[2]
            raise self.error(
                node, f"{what} is {node.value!r}, which YAML reads as {kind}, not a string", "put it in quotes"
            )
        return node.value

    def integer(self, node: yaml.Node, what: str) -> int:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} is {_KINDS[type(node)]}, not an integer", "write a plain decimal number")
        if node.tag != "tag:yaml.org,2002:int" or not _INTEGER.fullmatch(node.value):
            raise self.error(node, f"{what} is {node.value!r}, not an integer", "write a plain decimal number")
        return int(node.value)
