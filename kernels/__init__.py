"""The simulated serving machine: arrays, substrate, hicache, engine (floors 0 to 2).

Owns: nothing but the package name. Does not import anything: Hugging Face ships a distribution called
`kernels`, and `transformers` probes for that name, so this package must be real, cheap to import, and older
than every version that is probed for.
"""

__version__ = "0.0.0"

_HUGGING_FACE_NAMES = frozenset(
    {
        "Device",
        "LayerRepository",
        "Mode",
        "get_kernel",
        "get_local_kernel",
        "has_kernel",
        "kernelize",
        "register_kernel_mapping",
        "replace_kernel_forward_from_hub",
        "use_kernel_forward_from_hub",
    }
)


def __getattr__(name: str) -> object:
    if name in _HUGGING_FACE_NAMES:
        raise ImportError(
            f"'kernels.{name}' belongs to the Hugging Face package of the same name, but this process imports the "
            "'kernels' folder of the KV-race tool: start servers outside the repository with PYTHONSAFEPATH=1"
        )
    raise AttributeError(f"module 'kernels' has no attribute {name!r}")
