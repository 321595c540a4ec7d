"""A server of one page, for this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from windtunnel.errors import InputError, reason

#: No other machine reaches it.
_HOST = "127.0.0.1"


@contextmanager
def served(html: str, port: int = 0) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    """The page's address, and its server. Raises InputError if the port is taken; with port 0 a free one is chosen."""
    body = html.encode()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the page, whatever follows its address."""
            if self.path.split("?")[0] not in ("/", "/index.html"):
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing about requests."""

    try:
        server = ThreadingHTTPServer((_HOST, port), Page)
    except OSError as error:
        raise InputError(f"--port {port}: cannot be used: {reason(error)}") from None
    with server:
        yield f"http://{_HOST}:{server.server_address[1]}/", server
