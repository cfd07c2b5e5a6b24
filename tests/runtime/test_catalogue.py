"""Where the prebuilt objects are found, and what is said when they are not."""

import shutil

import pytest

from paged_attn_runtime import ArtifactError, ManifestError, VariantNotFoundError, catalogue
from paged_attn_runtime.variant import Variant

from .conftest import edit_manifest

MISSING = "paged_prefill_d192_v192_p1024_vectorized_5d_single"


def keep_only(folder, *parts):
    edit_manifest(folder, lambda m: m.update(variants=[v for v in m["variants"] if all(p in v["name"] for p in parts)]))


def test_the_variable_goes_first(damaged):
    assert catalogue.prebuilt_folder() == damaged


def test_the_variable_may_name_the_architecture_folder(damaged, monkeypatch):
    monkeypatch.setenv("PAGED_ATTN_PREBUILT", str(damaged))
    assert catalogue.prebuilt_folder() == damaged


def test_the_package_goes_before_the_checkout(objects, tmp_path, monkeypatch):
    monkeypatch.delenv("PAGED_ATTN_PREBUILT", raising=False)
    package = tmp_path / "site" / "paged_attn_runtime"
    monkeypatch.setattr(catalogue, "_package", package)
    shutil.copytree(objects, tmp_path / "site" / "prebuilt" / "gfx950")
    assert catalogue.prebuilt_folder() == tmp_path / "site" / "prebuilt" / "gfx950"
    shutil.copytree(objects, package / "prebuilt" / "gfx950")
    assert catalogue.prebuilt_folder() == package / "prebuilt" / "gfx950"


def test_nothing_found_names_the_places_and_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("PAGED_ATTN_PREBUILT", raising=False)
    monkeypatch.setattr(catalogue, "_package", tmp_path / "paged_attn_runtime")
    with pytest.raises(ManifestError) as caught:
        catalogue.catalogue()
    text = str(caught.value)
    assert str(tmp_path / "paged_attn_runtime" / "prebuilt") in text and str(tmp_path / "prebuilt") in text
    assert "python build_kernels.py" in text and "PAGED_ATTN_PREBUILT" in text


def test_a_variable_that_leads_nowhere_is_not_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGED_ATTN_PREBUILT", str(tmp_path / "gone"))
    with pytest.raises(ManifestError, match=r"gone/gfx950/manifest.json \(PAGED_ATTN_PREBUILT\)"):
        catalogue.catalogue()


def test_a_miss_names_the_nearest_and_the_command(damaged):
    keep_only(damaged, "p64", "longest_first")
    with pytest.raises(VariantNotFoundError) as caught:
        catalogue.catalogue().find(Variant.parse(MISSING))
    text = str(caught.value)
    assert text.startswith(
        f"no prebuilt {MISSING} in {damaged}. Nearest: paged_prefill_d192_v192_p64_vectorized_5d_longest_first"
    )
    assert text.endswith(f"Build it: python build_kernels.py --only {MISSING}")


def test_a_miss_is_a_lookup_error_too(damaged):
    keep_only(damaged, "p64", "longest_first")
    with pytest.raises(LookupError):
        catalogue.catalogue().find(Variant.parse(MISSING))


def test_an_empty_manifest_says_so(damaged):
    edit_manifest(damaged, lambda m: m.update(variants=[]))
    with pytest.raises(VariantNotFoundError, match="Nearest: none: the manifest is empty"):
        catalogue.catalogue().find(Variant.parse(MISSING))


def test_a_replaced_manifest_is_read_again(damaged):
    before = catalogue.catalogue()
    edit_manifest(damaged, lambda m: m.update(variants=m["variants"][:1]))
    assert len(catalogue.catalogue().by_variant) == 1
    assert len(before.by_variant) >= 1


def test_a_damaged_manifest_names_file_and_key(damaged):
    edit_manifest(damaged, lambda m: m["variants"][0].update(sha256="00"))
    with pytest.raises(ManifestError, match=rf"{damaged / 'manifest.json'}: .*variants\[0\].sha256"):
        catalogue.catalogue()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes; the manifest says"),
        (lambda path: path.write_bytes(b"\0" + path.read_bytes()[1:]), "sha256"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
    ids=["truncated", "changed", "missing"],
)
def test_an_object_is_refused_when_it_is_not_what_was_built(damaged, damage, said):
    found = catalogue.catalogue()
    entry = found.manifest.variants[0]
    damage(damaged / entry.file)
    with pytest.raises(ArtifactError) as caught:
        found.read_object(entry)
    assert said in str(caught.value)
    assert f"python build_kernels.py --only {entry.name}" in str(caught.value)
