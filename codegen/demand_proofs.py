"""The proofs that a compiled program needs before it runs, of its statement trees and of its
text."""

from codegen.compile import Generated
from codegen.proof.prove import prove
from codegen.proof.verdicts import Proof
from codegen.text_proof.prove_text import prove_texts
from ir.errors import Unsupported


def proofs(made: Generated) -> tuple[Proof, ...]:
    """The proofs of a program: of each kernel's tree, of each kernel's text, and of the buffers
    that they share."""
    return (*map(prove, made.kernels), *prove_texts(made.plan))


def demand_proofs(made: Generated) -> None:
    """Raise `Unsupported` if something about a program is not proved; it is not run then."""
    for proof in proofs(made):
        if not proof.ok:
            raise Unsupported(f"{proof.summary()}\nnot proved, so not run")
