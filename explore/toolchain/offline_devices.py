"""Devices that kernels can be compiled for here: how the toolchain is told which one is meant."""

from collections.abc import Mapping
from typing import Literal

from explore.toolchain.toolchain import LIBRARIES, Toolchain
from ir.core.frozen import frozen

Maker = Literal["bifrost", "valhall", "adreno"]


@frozen
class OfflineDevice:
    """A device for which Mesa can be told to compile: its profile's name, its maker (or kind of
    GPU), and the number by which Mesa knows it."""

    profile: str
    maker: Maker
    number: str

    def variables(self, toolchain: Toolchain, shaders: str) -> Mapping[str, str]:
        """The environment in which the toolchain compiles for the device; compiled OpenCL functions
        are kept in the folder `shaders`."""
        driver = "freedreno" if self.maker == "adreno" else "panfrost"
        own = (
            {"FD_GPU_ID": self.number, "IR3_SHADER_DEBUG": "cs,disasm"}
            if self.maker == "adreno"
            else {"PAN_GPU_ID": self.number, "BIFROST_MESA_DEBUG": "shaderdb,shaders"}
        )
        return {
            "OCL_ICD_VENDORS": str(toolchain.root / "etc/OpenCL/vendors/rusticl.icd"),
            # From where programs are started: spaces and colons in a path would end it.
            "LD_PRELOAD": f"{toolchain.root.name}/{LIBRARIES}/lib{driver}_noop_drm_shim.so",
            "RUSTICL_ENABLE": driver,
            "RUSTICL_FEATURES": "fp16",
            "MESA_SHADER_CACHE_DIR": shaders,
            **own,
        }


DEVICES = {
    d.profile: d
    for d in (
        OfflineDevice("mali-g72", "bifrost", "6221"),
        OfflineDevice("mali-g52", "bifrost", "7212"),
        OfflineDevice("mali-g76", "bifrost", "7211"),
        OfflineDevice("mali-g57", "valhall", "9093"),
        OfflineDevice("mali-g610", "valhall", "a867"),
        OfflineDevice("adreno-630", "adreno", "630"),
    )
}
