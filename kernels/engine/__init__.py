"""The serving engines: tokenizer and recall model, batching, prefill, decode, and the hand-off between them. Floor 2c.

Owns, one idea a file:
    vocabulary, tokenizer, tokenizer_chat    text and chats to tokens and back
    recall/                                  the model: what bytes of the cache mean, and the next token
    prompt, shelf, ledger                    prompts, page contents, and what a version number stands for
    batch, batching, forward                 which requests a forward computes, and the kernels it issues
    pages_read, readout                      from what the reads saw to tokens and to what was written
    prefill, decode, handoff, bootstrap      the two engines, the copies between them, where they meet
    evidence, request, spec, shared, pair    records, what runs share, and the wiring
Does not own: pools, tree and transfers (hicache), time and bytes in flight (substrate), HTTP (harness).
"""
