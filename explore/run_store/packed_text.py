"""Long texts in a file of outcomes: compressed, and of a bounded length when they are read."""

import zlib

from explore.options.stored_fields import TEXT, Damaged

MOST = 4 * TEXT  # characters


def packed(text: str) -> bytes:
    """The text as compressed bytes."""
    return zlib.compress(text.encode(), 3)


def unpacked(blob: object, what: str, most: int = MOST) -> str:
    """The text that was stored as these bytes; raises Damaged, with the name `what`, if they are
    anything else, or a text of more than `most` bytes."""
    if not isinstance(blob, bytes):
        raise Damaged(f"{what}: expected bytes, found {type(blob).__name__}")
    out = zlib.decompressobj()
    try:
        text = out.decompress(blob, most)
    except zlib.error as error:
        raise Damaged(f"{what}: expected a compressed text, found other bytes ({error})") from None
    if out.unconsumed_tail or not out.eof:
        raise Damaged(
            f"{what}: expected a compressed text of at most {most} bytes, "
            f"found {'a longer one' if out.unconsumed_tail else 'one that is cut off'}"
        )
    return text.decode()
