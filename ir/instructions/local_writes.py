"""The barrier of kernels whose instructions read local memory themselves.

Such an instruction reads by a way of its own (PTX ISA, "Async proxy"), on which it may miss what
work-items wrote there before, unless these order their writes ahead of its reads. They do so before
the barrier and not before the instruction: there, they would wait for all that they load meanwhile.
"""

ORDERED_BARRIER = "ORDERED_BARRIER"
TEXT = """
#if defined(HAS_PTX_SM_90A)
inline void order_local_writes(void)
{
  asm volatile("//@sm_90a fence.proxy.async.shared::cta;" : : : "memory");
}
#define ORDERED_BARRIER(spaces) order_local_writes(); barrier(spaces)
#else
#define ORDERED_BARRIER(spaces) barrier(spaces)
#endif
""".strip()
