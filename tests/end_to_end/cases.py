"""The matrix that ships, as pytest parameters."""

import pytest

HEAD_DIMS = [(128, 128), (192, 128), (192, 192)]
PAGE_SIZES = [1, 16, 64, 1024]
POLICIES = ["single", "interleaved", "longest_first"]

every_variant = pytest.mark.parametrize(
    "head_dim, v_head_dim, page_size, batch_policy",
    [(*dims, page_size, policy) for dims in HEAD_DIMS for page_size in PAGE_SIZES for policy in POLICIES],
)
