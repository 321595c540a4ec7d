"""The state of the lab in the address of its page, as the page itself writes and reads it (``web/lab/address.ts``)."""

from __future__ import annotations

import base64
import zlib


def hash_of(text: str, at_ns: int = 0) -> str:
    """What follows ``#``: the text of the scenario, packed (deflate, base64 for addresses), and the time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(text.encode()) + packer.flush()
    return f"at={at_ns}&scenario={base64.urlsafe_b64encode(packed).decode('ascii').rstrip('=')}"
