"""The texts by which work-items await the products of instructions that go on after they were
called.

Such an instruction has been given its operands when a call of it ends, and no more: until it is
awaited, it reads local memory and the registers of its operands, and adds to those of its results
(PTX ISA, "wgmma.mma_async"). A compiler does not know that. So each result is `SETTLED` after it is
awaited: the compiler takes it for a value that was made there.

What is begun between two places where products are awaited is a group. To await all but the latest
one changes nothing in what may be used or overwritten; it bounds the registers that products under
way read.
"""

AWAIT_PRODUCTS = "AWAIT_PRODUCTS"
AWAIT_PRODUCTS_BUT = "AWAIT_PRODUCTS_BUT"
SETTLED = "SETTLED"
_SUMS = ", ".join(f'"+f"(c.s{n:x})' for n in range(16))
TEXT = f"""
#if defined(HAS_PTX_SM_90A)
inline void await_products(void)
{{
  asm volatile("//@sm_90a wgmma.commit_group.sync.aligned;\\n"
               "//@sm_90a wgmma.wait_group.sync.aligned 0;" : : : "memory");
}}
inline void await_products_but_1(void)
{{
  asm volatile("//@sm_90a wgmma.commit_group.sync.aligned;\\n"
               "//@sm_90a wgmma.wait_group.sync.aligned 1;" : : : "memory");
}}
inline float16 settled_sums(float16 c)
{{
  asm volatile("" : {_SUMS});
  return c;
}}
#define AWAIT_PRODUCTS() await_products()
#define AWAIT_PRODUCTS_BUT(later) await_products_but_##later()
#define SETTLED(c) (c) = settled_sums(c)
#else
#define AWAIT_PRODUCTS()
#define AWAIT_PRODUCTS_BUT(later)
#define SETTLED(c)
#endif
""".strip()
