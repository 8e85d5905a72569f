"""A machine without time: the same streams, events and buffers, but a strategy says what runs next."""
