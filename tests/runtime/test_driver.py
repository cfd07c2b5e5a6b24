"""The funnel for HIP's results, over a stand-in for hip-python."""

import enum

import pytest

from paged_attn_runtime import HipError
from paged_attn_runtime.driver import Driver


class Error(enum.IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorNoDevice = 100
    hipErrorIllegalAddress = 700


class Driver72(Driver):
    """A driver without hip-python."""

    def __init__(self, hip):
        self._hip = hip
        self._architectures = {}
        self._structs_are_arguments = False


class Hip:
    cleared = 0

    def hipGetErrorString(self, error):
        return Error.hipSuccess, b"what it means"

    def hipGetLastError(self):
        self.cleared += 1
        return (Error.hipSuccess,)

    def hipGetDevice(self):
        return Error.hipSuccess, 3

    def hipFree(self, address):
        return (Error(address),)

    def hipRuntimeGetVersion(self):
        raise RuntimeError("failed to dlsym 'hipRuntimeGetVersion'")

    def hipSetDevice(self, device):
        raise ValueError(f"{device} is not a valid hipError_t")

    def hipGetDeviceCount(self):
        return Error.hipErrorNoDevice, 0


@pytest.fixture
def driver():
    return Driver72(Hip())


def test_payloads(driver):
    assert driver.call("hipGetDevice") == 3
    assert driver.call("hipFree", 0) is None
    assert driver.check("call", (Error.hipSuccess, 1, 2)) == (1, 2)


def test_an_error_has_hips_name_and_explanation_and_is_taken_back(driver):
    with pytest.raises(HipError, match="^hipErrorInvalidValue: hipFree: what it means$") as caught:
        driver.free(1)
    assert caught.value.name == "hipErrorInvalidValue"
    assert driver._hip.cleared == 1


def test_a_fault_suggests_the_checking_mode(driver):
    with pytest.raises(HipError, match="hipErrorIllegalAddress: .*PAGED_ATTN_CHECK=1"):
        driver.free(700)


def test_a_runtime_that_lacks_a_function(driver):
    with pytest.raises(
        HipError, match="HipUnavailable: this HIP runtime has no hipRuntimeGetVersion .*ROCm 7.0 or newer"
    ):
        driver.runtime_version()


def test_a_code_without_a_name(driver):
    with pytest.raises(HipError, match="UnknownError: hipSetDevice: 4711 is not a valid hipError_t"):
        driver.set_device(4711)


def test_no_device_is_a_count_of_none(driver):
    assert driver.device_count() == 0


def test_errors_survive_pickling(driver):
    import pickle

    error = pickle.loads(pickle.dumps(HipError("hipErrorUnknown", "text")))
    assert (error.name, str(error)) == ("hipErrorUnknown", "hipErrorUnknown: text")
