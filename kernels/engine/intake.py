"""What an engine refuses at its door: prompts that cannot be read, and prompts that can never fit.

Owns: the sentences. Does not own: waiting for room that will come (batching, decode), the HTTP status. Floor 2c.

Without it the first request that is larger than a pool would wait at the head of its line for ever, and everybody
behind it too.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.engine.bootstrap import Bootstrap, Rendezvous
from kernels.engine.prompt import Prompt, PromptReader
from kernels.engine.request import GenerateRequest, TokenSink, Usage
from kernels.engine.tokenizer_chat import MessageError


@dataclass(frozen=True, slots=True)
class Intake:
    """One engine's door. pool: its name in sentences. capacity_tokens: whole pages of it, in tokens."""

    reader: PromptReader
    bootstrap: Bootstrap
    pool: str
    capacity_tokens: int

    def prompt(
        self, request: GenerateRequest, sink: TokenSink, meeting: Rendezvous, now_ns: int, *, reply_tokens: int = 0
    ) -> Prompt | None:
        """The request's prompt. None where it cannot be served: then its sink and the other half have been told why.

        Args: reply_tokens: room that the reply needs in this pool.
        """
        try:
            prompt = (
                self.reader.read(request.messages, request.tools)
                if request.raw_prompt is None
                else self.reader.continued(request.raw_prompt)
            )
        except MessageError as unreadable:
            sink.on_finish("error", Usage(0, 0, 0), now_ns, str(unreadable))
            self.bootstrap.give_up(meeting, str(unreadable))
            return None
        prompt_tokens = len(prompt.tokens)
        if prompt_tokens + reply_tokens > self.capacity_tokens:
            reply = f" and a reply of up to {reply_tokens}" if reply_tokens else ""
            problem = f"{prompt_tokens} tokens{reply} do not fit into the {self.pool} of {self.capacity_tokens} tokens"
            sink.on_finish("error", Usage(prompt_tokens, 0, 0), now_ns, problem)
            self.bootstrap.give_up(meeting, problem)
            return None
        return prompt
