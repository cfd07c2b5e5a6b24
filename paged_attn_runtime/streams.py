"""What a caller may pass as `stream`: an integer handle, a torch stream, hip-python's ihipStream_t, or an object with
__cuda_stream__."""

from __future__ import annotations

from typing import Any


def stream_handle(stream: Any) -> int:
    """The handle of a stream; 0 is the null stream."""
    if type(stream) is int:
        handle = stream
    elif hasattr(stream, "cuda_stream"):  # torch.cuda.Stream
        handle = int(stream.cuda_stream)
    elif hasattr(stream, "__cuda_stream__"):
        handle = int(stream.__cuda_stream__()[1])
    elif hasattr(stream, "as_c_void_p"):  # hip-python's pointers
        handle = int(stream)
    else:
        raise TypeError(
            f"stream is {stream!r}; allowed: None, an integer handle, a torch stream, a hip-python stream, or an "
            f"object with __cuda_stream__"
        )
    if not 0 <= handle < 2**64:
        raise ValueError(f"stream is {handle}; allowed: a handle, 0 for the null stream")
    return handle
