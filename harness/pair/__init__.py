"""The prefill/decode pair and its router as HTTP servers, speaking SGLang's PD contract. Floor 5."""
