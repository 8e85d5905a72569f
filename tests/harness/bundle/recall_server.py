"""A server that knows the right answers and gives wrong ones in a chosen case, and remembers what it was asked.

Owns: the server, in a thread of its own. Does not own: any expectation. Floor: tests. Source: ours.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Case = Literal["right", "wrong", "busy", "text", "whole", "broken", "refused"]
MODEL = "fault-model"


class RecallServer(ThreadingHTTPServer):
    """answers: by request name. case: busy is wrong while another request is open; text puts the call into the content;
    whole does not stream; broken cuts each stream; refused wants a key."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, tuple[str, str]], case: Case) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.case = case
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.lock = threading.Condition()
        self.open = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: RecallServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *words: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        if self.server.case == "refused":
            self._whole(401, {"error": {"message": "no key"}})
        else:
            self._whole(200, {"data": [{"id": MODEL}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.bodies.append(body)
            server.keys.append(self.headers.get("Authorization"))
            server.open += 1
            server.lock.notify_all()
            # A request of a round waits for a second one, so that "at once" does not hang on how fast a machine is.
            alone = "alone)" in str(body["messages"][0]["content"])[:40]
            waits = server.case == "busy" and not alone
            is_busy = waits and server.lock.wait_for(lambda: server.open > 1, timeout=0.3)
        try:
            self._answer(body["user"], is_busy=is_busy)
        finally:
            with server.lock:
                server.open -= 1

    def _answer(self, name: str, *, is_busy: bool) -> None:
        case, (tool, arguments) = self.server.case, self.server.answers[name]
        if case == "wrong" or (case == "busy" and is_busy):
            arguments = '{"never": "planted"}'
        call = {"index": 0, "id": "c", "function": {"name": tool, "arguments": arguments}}
        if case == "whole":
            self._whole(200, {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
            return
        first: dict[str, Any] = {"content": f"{tool}\n{arguments}"} if case == "text" else {"tool_calls": [call]}
        if case != "text":
            call["function"] = {"name": tool, "arguments": arguments[:4]}
        pieces: list[dict[str, Any]] = [{"delta": first, "finish_reason": None}]
        if case != "text":
            rest = {"index": 0, "function": {"arguments": arguments[4:]}}
            pieces.append({"delta": {"tool_calls": [rest]}, "finish_reason": None})
        pieces.append({"delta": {}, "finish_reason": "stop"})
        self._stream(pieces[:1] if case == "broken" else pieces, ends=case != "broken")

    def _stream(self, choices: list[dict[str, Any]], *, ends: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        lines = [json.dumps({"choices": [{"index": 0, **choice}]}) for choice in choices] + ["[DONE]"] * ends
        for line in lines:
            data = f"data: {line}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _whole(self, status: int, fields: object) -> None:
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def recalling(answers: Mapping[str, tuple[str, str]], case: Case) -> Iterator[RecallServer]:
    server = RecallServer(answers, case)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
