"""CUDA kernels, compiled when they are first needed: by NVRTC, and launched through the driver, on torch's arrays.

Imports no other room.

Who installs ``discreet[torch]`` with a GPU has NVRTC, which comes with torch's wheels, and the driver, but no ``nvcc``.
So sources are compiled at run time, for the GPU that is there and for the constants that are asked for. The functions
of NVRTC and of the driver that are used here are old and documented. torch's own wrapper of them is private and has
changed from version to version; CuPy would be one more dependency, in a version that must fit that of CUDA; Triton,
which comes with torch too, has no control over registers, on which the kernels of this library rest.

Where anything is missing, ``load_kernel`` returns None. Callers then compute with torch.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from array_api_compat import is_torch_array

SHARED_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
LEAST_SHARED = 48 * 1024  # bytes that a kernel may have without asking


def is_on_cuda(x: Any) -> bool:
    """Return whether ``x`` is a tensor of torch on an NVIDIA GPU."""
    return bool(is_torch_array(x)) and x.device.type == "cuda" and _torch().version.cuda is not None


class CudaKernel:
    """A compiled kernel on one GPU.

    Parameters
    ----------
    function : int
        The driver's handle.
    device : int
        The number of the GPU.
    shared : int
        The bytes of dynamic shared memory of a block.
    """

    def __init__(self, function: int, device: int, shared: int) -> None:
        self._function, self._device, self._shared = function, device, shared

    def launch(self, blocks: int, threads: int, *arguments: Any) -> None:
        """Launch the kernel on torch's current stream.

        Parameters
        ----------
        blocks, threads : int
            How many blocks, of how many threads.
        *arguments
            Tensors, whose memory is passed, and whole numbers, which are ``long long`` in the kernel.
        """
        torch = _torch()
        values = [
            ctypes.c_longlong(one) if isinstance(one, int) else ctypes.c_void_p(one.data_ptr()) for one in arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        with torch.cuda.device(self._device):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            grid = (blocks, 1, 1, threads, 1, 1)
            code = _driver().cuLaunchKernel(
                ctypes.c_void_p(self._function), *grid, self._shared, stream, pointers, None
            )
        if code:
            raise RuntimeError(f"the GPU did not accept a kernel (CUDA error {code})")


@lru_cache(maxsize=256)
def load_kernel(
    source: str, name: str, constants: tuple[tuple[str, int], ...], device: int, shared: int = 0
) -> CudaKernel | None:
    """Return a kernel, compiled for one GPU, or None where that is not possible.

    Parameters
    ----------
    source : str
        CUDA C++, in which the kernel is ``extern "C"``.
    name : str
        The kernel's name.
    constants : tuple of (str, int)
        Macros that are defined for the source.
    device : int
        The number of the GPU.
    shared : int
        The bytes of dynamic shared memory that a block gets.
    """
    torch = _torch()
    try:
        with torch.cuda.device(device):
            torch.cuda.current_stream().synchronize()  # the context is there
            binary = _compile(source, constants, torch.cuda.get_device_capability(device))
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            driver = _driver()
            codes = [driver.cuModuleLoadData(ctypes.byref(module), binary)]
            codes += [driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())]
            if shared > LEAST_SHARED:
                codes += [driver.cuFuncSetAttribute(function, SHARED_MEMORY, shared)]
    except (OSError, AttributeError, RuntimeError):  # a library, or a function of it, is not there
        return None
    if any(codes) or function.value is None:
        return None
    return CudaKernel(function.value, device, shared)


def _compile(source: str, constants: tuple[tuple[str, int], ...], capability: tuple[int, int]) -> bytes:
    """Return machine code; raise RuntimeError with what the compiler said."""
    nvrtc, program, size = _nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"--gpu-architecture=sm_{capability[0]}{capability[1]}", "--std=c++17"]
    options += [f"--define-macro={name}={value}" for name, value in constants]
    listed = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"discreet.cu", 0, None, None)
    if code:
        raise RuntimeError(f"NVRTC error {code}")
    try:
        if nvrtc.nvrtcCompileProgram(program, len(options), listed):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.value.decode(errors="replace"))
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, binary)
        return binary.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _torch() -> Any:
    import torch

    return torch


@lru_cache(maxsize=1)
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


@lru_cache(maxsize=1)
def _nvrtc() -> Any:
    """Return the NVRTC of torch's version of CUDA: from the loader's path, or beside torch in its wheels."""
    torch = _torch()
    name = f"libnvrtc.so.{torch.version.cuda.split('.')[0]}"
    site = Path(torch.__file__).parents[1]
    found = [*site.glob(f"nvidia/*/lib/{name}"), *site.glob(f"torch/lib/{name}"), name]
    for place in found[:-1]:
        try:
            return ctypes.CDLL(str(place))
        except OSError:
            continue
    return ctypes.CDLL(name)
