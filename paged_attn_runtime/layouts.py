"""Cache layouts for people: plain [tokens, Hkv, D] rows to pages and back, for NumPy arrays and torch tensors of any
dtype.

    vectorized_5d   K [pages, Hkv, D/16, page, 16]: 16 elements of one token lie together, then the tokens of the page
                    V [pages, Hkv, page/16, Dv, 16]: 16 tokens of one element lie together, then the elements
    linear          K and V [pages, Hkv, D]: a page is one token

Copies, on whatever device the argument lives. The last page is padded with `pad`. Nothing here is needed to launch a
kernel.
"""

from __future__ import annotations

from typing import Any

from .variant import KV_LAYOUTS, PAGE_LAYOUT

VECTOR = 16


def pack_k(tokens: Any, page_size: int, kv_layout: str | None = None, pad: int = 0) -> Any:
    """Keys [tokens, Hkv, D] to pages in token order."""
    if _layout(page_size, kv_layout) == "linear":
        return _copy(tokens)
    pages = _pages(tokens, page_size, pad)
    count, _, heads, dim = pages.shape
    _multiple("D", dim)
    return _copy(_permute(pages.reshape(count, page_size, heads, dim // VECTOR, VECTOR), (0, 2, 3, 1, 4)))


def pack_v(tokens: Any, page_size: int, kv_layout: str | None = None, pad: int = 0) -> Any:
    """Values [tokens, Hkv, Dv] to pages in token order."""
    if _layout(page_size, kv_layout) == "linear":
        return _copy(tokens)
    pages = _pages(tokens, page_size, pad)
    count, _, heads, dim = pages.shape
    return _copy(_permute(pages.reshape(count, page_size // VECTOR, VECTOR, heads, dim), (0, 3, 1, 4, 2)))


def unpack_k(cache: Any, page_ids: Any = None, length: int | None = None) -> Any:
    """Pages to keys [tokens, Hkv, D]: all pages, or those of `page_ids` in that order; the first `length` tokens."""
    cache = cache if page_ids is None else cache[page_ids]
    if len(cache.shape) == 5:
        count, heads, vectors, page_size, _ = cache.shape
        cache = _permute(cache, (0, 3, 1, 2, 4)).reshape(count * page_size, heads, vectors * VECTOR)
    return _copy(_flat(cache)[:length])


def unpack_v(cache: Any, page_ids: Any = None, length: int | None = None) -> Any:
    """Pages to values [tokens, Hkv, Dv]: all pages, or those of `page_ids` in that order; the first `length` tokens."""
    cache = cache if page_ids is None else cache[page_ids]
    if len(cache.shape) == 5:
        count, heads, groups, dim, _ = cache.shape
        cache = _permute(cache, (0, 2, 4, 1, 3)).reshape(count * groups * VECTOR, heads, dim)
    return _copy(_flat(cache)[:length])


def page_size_of(k_cache: Any) -> int:
    """Tokens a page, read off the shape of a K cache."""
    return k_cache.shape[3] if len(k_cache.shape) == 5 else 1


def v_head_dim_of(v_cache: Any) -> int:
    """Dv, read off the shape of a V cache."""
    return v_cache.shape[3] if len(v_cache.shape) == 5 else v_cache.shape[-1]


def _layout(page_size: int, kv_layout: str | None) -> str:
    if page_size not in PAGE_LAYOUT:
        raise ValueError(f"page_size is {page_size!r}; allowed: {', '.join(map(str, PAGE_LAYOUT))}")
    if kv_layout is not None and kv_layout != PAGE_LAYOUT[page_size]:
        allowed = PAGE_LAYOUT[page_size] if kv_layout in KV_LAYOUTS else ", ".join(KV_LAYOUTS)
        raise ValueError(f"kv_layout is {kv_layout!r} with page_size {page_size}; allowed: {allowed}")
    return PAGE_LAYOUT[page_size]


def _pages(tokens: Any, page_size: int, pad: int) -> Any:
    """[pages, page, heads, dim], the last page filled up."""
    if len(tokens.shape) != 3:
        raise ValueError(f"the tokens have shape {tuple(tokens.shape)}; wanted [tokens, heads, dim]")
    count, heads, dim = tokens.shape
    pages = -(-count // page_size)
    if pages * page_size != count:
        padded = _full_like(tokens, (pages * page_size, heads, dim), pad)
        padded[:count] = tokens
        tokens = padded
    return tokens.reshape(pages, page_size, heads, dim)


def _flat(cache: Any) -> Any:
    return cache.reshape(cache.shape[0], cache.shape[-2], cache.shape[-1]) if len(cache.shape) == 4 else cache


def _multiple(label: str, size: int) -> None:
    if size % VECTOR:
        raise ValueError(f"{label} is {size}; allowed: multiples of {VECTOR}")


def _is_numpy(array: Any) -> bool:
    return not hasattr(array, "permute")


def _permute(array: Any, axes: tuple[int, ...]) -> Any:
    return array.transpose(axes) if _is_numpy(array) else array.permute(axes)


def _copy(array: Any) -> Any:
    return array.copy(order="C") if _is_numpy(array) else array.contiguous().clone()


def _full_like(array: Any, shape: tuple[int, ...], value: int) -> Any:
    if not _is_numpy(array):
        return array.new_empty(shape).fill_(value)
    import numpy

    return numpy.full(shape, value, array.dtype)
