"""Forms that were not derived, because their worker died or took too long; they have no
variants."""

from collections.abc import Iterable, Iterator

from explore.options.stored_fields import LONG, TEXT, Fields
from explore.results.read_record import FAMILY, FORM
from ir.core.frozen import frozen


@frozen
class LostForm:
    """A form of a family that was not derived, and the reason: in short, in `detail` (which may be
    long), and whether it took too long."""

    family: str
    form: str  # its words
    reason: str
    detail: str = ""
    timed_out: bool = False

    @property
    def name(self) -> str:
        """The name of the family and the words of the form."""
        return f"{self.family} {self.form}".rstrip()


def lost_form_from(fields: Fields) -> LostForm:
    """The lost form in stored fields, which another process wrote; raises Damaged if they hold
    none."""
    return LostForm(
        family=fields.matching("family", FAMILY, "the name of a family"),
        form=fields.matching("form", FORM, "the words of a form"),
        reason=fields.text("reason", LONG),
        detail=fields.text("detail", TEXT),
        timed_out=fields.flag("timed_out"),
    )


def lost_lines(lost: Iterable[LostForm]) -> Iterator[str]:
    """Lines that tell which forms were not derived, and why."""
    for form in lost:
        yield f"{form.name} was not derived, so none of its variants was tried: {form.reason}"
