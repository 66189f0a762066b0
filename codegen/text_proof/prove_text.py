"""The proof that the text of a plan is safe to run, read anew from the very strings that are
built."""

# key: b buffer

from dataclasses import replace
from functools import lru_cache

from codegen.plan import Kernel, Plan
from codegen.proof.races_and_bounds import verdicts
from codegen.proof.verdicts import Kind, Obligation, Proof, Refuted, Unproved, Verdict
from codegen.text_proof.launch_agreement import Buffers, agreement
from codegen.text_proof.plan_proof import prove_plan
from codegen.text_proof.text_footprint import text_footprint
from codegen.text_proof.work_item_ids import Size
from codegen.text_reader.c_syntax import Braces, KernelText
from codegen.text_reader.c_tokens import NotRead
from codegen.text_reader.c_words import SIZES, STORED_AS
from codegen.text_reader.read_kernel import read_kernel


def prove_texts(plan: Plan) -> tuple[Proof, ...]:
    """A proof for the text of each kernel with its launch, and one for what kernels share."""
    buffers = {b.name: b for b in plan.buffers}
    proofs = [prove_launch(kernel, buffers) for kernel in plan.kernels]
    heads = [_head(kernel.source) for kernel in plan.kernels]
    read = [head for head in heads if isinstance(head, KernelText)]
    return (*proofs, prove_plan(plan, read)) if len(read) == len(heads) else tuple(proofs)


def prove_launch(launch: Kernel, buffers: Buffers) -> Proof:
    """The proof of a kernel's text, launched on these buffers: that text and launch agree, that
    accesses stay inside their arrays, and that no work-items race."""
    text = _head(launch.source)
    if isinstance(text, NotRead):
        return _unread(launch.name, text)
    agrees = agreement(text, launch, buffers)
    if any(isinstance(v, Refuted) for v in agrees):
        return Proof(launch.name, tuple(agrees))
    given = [buffers[name] for name in launch.arguments]
    elements = tuple([b.bytes // SIZES[STORED_AS.get(b.scalar, b.scalar)] for b in given])
    return Proof(launch.name, (*agrees, *_safe(launch.source, launch.global_size, elements)))


@lru_cache(maxsize=4)
def _read(source: str) -> KernelText | NotRead:
    """The syntax tree of a text, or why it cannot be read; only the last few trees are kept, as
    they are large."""
    try:
        return read_kernel(source)
    except NotRead as reason:
        return reason


@lru_cache(maxsize=1024)
def _head(source: str) -> KernelText | NotRead:
    """The syntax tree of a text with its body left empty, or why the text cannot be read."""
    text = _read(source)
    return text if isinstance(text, NotRead) else replace(text, body=Braces(()), lines=())


@lru_cache(maxsize=1024)
def _safe(source: str, global_size: Size, elements: tuple[int, ...]) -> tuple[Verdict, ...]:
    """The verdicts on the text `source`, launched with `global_size` work-items along each
    dimension, on buffers of `elements` elements, in the order of the kernel's parameters.

    Variants of a program share kernels, and so do the layers of a network: each kernel is proved
    once.
    """
    text = _read(source)
    assert isinstance(text, KernelText)
    x, y, z = text.group_size
    groups = (global_size[0] // x, global_size[1] // y, global_size[2] // z)
    known = {p.name: n for p, n in zip(text.parameters, elements, strict=True)}
    try:
        return tuple(verdicts(text_footprint(text, known, (x, y, z), groups)))
    except NotRead as reason:
        return _unread("", reason).obligations


def _unread(kernel: str, reason: NotRead) -> Proof:
    obligation = Obligation(Kind.TEXT, "", "the text is what kernels are printed in")
    return Proof(kernel, (Unproved(obligation, str(reason)),))
