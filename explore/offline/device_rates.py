"""The rates at which devices that are not here carry out instructions, by published numbers; no
device was measured for them."""

from ir.core.frozen import frozen

LINE = 64  # bytes that a core moves to or from its nearest cache in a cycle


@frozen
class Rates:
    """The rates of a device: its clock; the work-items for which a core begins an instruction in a
    cycle (`lanes`; `shifts` for instructions of Valhall's slow unit); the work-items that run in
    step (`warp`), whose accesses to memory are one message; and the bytes a nanosecond of its
    chip's memory."""

    clock_ghz: float
    lanes: int  # work-items of which a core begins an instruction, or a tuple of two, in a cycle
    shifts: int  # the same, of what Valhall's slow unit carries out
    warp: int  # work-items that run in step, and whose memory accesses are one message
    bandwidth: float  # bytes a nanosecond


# Lanes and warps: Arm's Mali GPU datasheet, 2021 (floating-point operations a clock, halved), and
# for the G610 what Arm says of the G710, a core of the same kind. Shifts: a quarter, as Mesa's
# statistics have it. Adreno 630: 727 GFLOPS at 710 MHz. Clocks and memory are those of the chips
# that `constraints.devices` names: HiSilicon Kirin 970 and 980, MediaTek Helio G80 and Dimensity
# 700, Rockchip RK3588, Qualcomm Snapdragon 845.
RATES = {
    "mali-g72": Rates(0.746, 12, 12, 4, 29.8),
    "mali-g76": Rates(0.72, 24, 24, 8, 34.1),
    "mali-g52": Rates(0.95, 24, 24, 8, 14.4),
    "mali-g57": Rates(0.95, 32, 8, 16, 17.1),
    "mali-g610": Rates(1.0, 64, 16, 16, 34.1),
    "adreno-630": Rates(0.71, 256, 256, 64, 29.8),
}
