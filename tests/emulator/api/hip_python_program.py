"""Run by test_hip_python.py: the main line of a runtime through hip-python, in the forms of both 10.0 and 7.2."""

import ctypes
import struct
import sys
import threading

from hip import hip


def check(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if len(values) == 1 else tuple(values)


def filled(kind, call, *arguments):
    """10.0 returns the struct; 7.2 takes it as the first argument."""
    try:
        return check(call(*arguments))
    except TypeError:
        result = kind()
        check(call(result, *arguments))
        return result


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def main(path):
    check(hip.hipInit(0))
    assert check(hip.hipGetDeviceCount()) == 1
    properties = filled(hip.hipDeviceProp_t, hip.hipGetDeviceProperties, 0)
    assert text(properties.gcnArchName) == "gfx950:sramecc+:xnack-"
    assert (properties.multiProcessorCount, properties.warpSize, properties.major) == (256, 64, 9)
    assert (properties.sharedMemPerBlock, properties.clockInstructionRate) == (163840, 100000)
    pointer = check(hip.hipMalloc(4096))
    attributes = filled(hip.hipPointerAttribute_t, hip.hipPointerGetAttributes, pointer)
    assert (int(attributes.type), attributes.device) == (int(hip.hipMemoryType.hipMemoryTypeDevice), 0)
    there, back = bytes(range(256)) * 16, bytearray(4096)
    check(hip.hipMemcpy(pointer, there, 4096, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    check(hip.hipMemcpy(back, pointer, 4096, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    assert back == there

    stream, begin, end = check(hip.hipStreamCreate()), check(hip.hipEventCreate()), check(hip.hipEventCreate())
    with open(path, "rb") as file:
        module = check(hip.hipModuleLoadData(file.read()))
    function = check(hip.hipModuleGetFunction(module, b"store"))
    kernarg = ctypes.create_string_buffer(struct.pack("<QI", int(pointer), 1234), 12)
    size = ctypes.c_size_t(12)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(kernarg), 2, ctypes.addressof(size), 3)
    check(hip.hipEventRecord(begin, stream))
    check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, None, ctypes.addressof(extra)))
    check(hip.hipEventRecord(end, stream))
    check(hip.hipStreamSynchronize(stream))
    assert check(hip.hipEventElapsedTime(begin, end)) > 0
    check(hip.hipMemcpy(back, pointer, 4, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    assert struct.unpack("<I", back[:4]) == (1234,)

    assert hip.hipFree(7)[0] == hip.hipError_t.hipErrorInvalidValue
    in_thread = []
    thread = threading.Thread(target=lambda: in_thread.append(hip.hipGetLastError()[0]))
    thread.start()
    thread.join()
    assert in_thread == [hip.hipError_t.hipSuccess]
    assert hip.hipGetLastError()[0] == hip.hipError_t.hipErrorInvalidValue
    check(hip.hipModuleUnload(module))
    check(hip.hipFree(pointer))
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
