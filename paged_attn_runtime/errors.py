"""The errors of this package. docs/errors.md states what each one guarantees.

Misuse of an argument is a TypeError or a ValueError and an option that is not served is a NotImplementedError; what is
wrong with an installation, an artifact or a device is one of the types below. All of them are raised before anything
is launched, except a HipError that reports the launch itself.
"""


class PagedAttnError(Exception):
    """Base of every error that is not a misuse of an argument."""


class ManifestError(PagedAttnError):
    """A manifest is missing, unreadable, of another schema version, or contradicts itself."""


class VariantNotFoundError(PagedAttnError, LookupError):
    """No prebuilt variant serves the request. The text names the nearest ones and the command that builds it."""


class ArtifactError(PagedAttnError):
    """A code object is missing, altered, truncated, for another architecture, or disagrees with its manifest."""


class HipError(PagedAttnError):
    """HIP returned an error, or cannot be used in this process.

    `name` is HIP's own name of the error (hipErrorIllegalAddress), or the runtime's name of a state in which no HIP
    call was made (ForkedProcess, TwoHipRuntimes, HipUnavailable, ColdCapture).
    """

    def __init__(self, name: str, text: str):
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text

    def __reduce__(self):
        return (type(self), (self.name, self.text))
