"""docs/manifest.md speaks of every key, argument, operation and quantity that there is."""

import dataclasses
import re

import pytest

from paged_attn_runtime import manifest
from paged_attn_runtime.variant import BATCH_POLICIES, KV_LAYOUTS, Variant
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "manifest.md").read_text()
SPOKEN_OF = {word for span in re.findall(r"`([^`]+)`", TEXT) for word in re.findall(r"\w+", span)}
CLASSES = (
    manifest.Manifest, manifest.Package, manifest.VariantEntry, Variant, manifest.Grid, manifest.Spills,
    manifest.Kernarg, manifest.KernelArg, manifest.BuildRecord, manifest.PolicyRule, manifest.Bounds,
)  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_keys(kind):
    assert {field.name for field in dataclasses.fields(kind)} <= SPOKEN_OF


def test_names():
    assert {*manifest.OPERATIONS, *manifest.QUANTITIES, *manifest.ARG_KINDS, *KV_LAYOUTS, *BATCH_POLICIES} <= SPOKEN_OF
    assert f"this page describes version **{manifest.SCHEMA_VERSION}**" in TEXT


def test_kernel_arguments(prebuilt):
    from paged_attn_runtime.manifest_reader import load_manifest

    rows = dict(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (pointer|i64|i32|f32) \|", TEXT, re.MULTILINE))
    described = {name: kind for names, kind in rows.items() for name in re.findall(r"\w+", names)}
    for entry in load_manifest(prebuilt).variants:
        assert {arg.name: arg.kind for arg in entry.kernarg.args} == described
