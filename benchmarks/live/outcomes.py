"""What each balancer makes of each fault between it and one of our workers, as measured with the versions pinned.

Owns: the table, which tests/real_parts/test_faults.py checks in every CI run and docs/live-servers.md shows. Does not
own: planting the faults. Source: measured; facts/real-servers.md section 1 has most of it for stand-ins.
"""

from __future__ import annotations

from harness.load.names import Role

FAULTS = {
    "refused": "500 before the worker hears of it",
    "bad_request": "400 before the worker hears of it",
    "dropped": "connection closed before the worker hears of it",
    "lost": "connection closed before the worker's answer is passed on",
    "error_in_200": "an error object in the middle of a reply of status 200",
    "no_done": "a whole reply without `[DONE]`",
    "cut": "connection closed in the middle of the reply",
}

# Three of these end well: `retried` is the pair once more under a new room, `sent twice` is one worker that gets the
# same room again, `unnoticed` is one delivery whose end nobody missed.
ENDS_WELL = ("retried", "sent twice", "unnoticed")

# Each worker's fault, and what becomes of it behind sglang-router, mini_lb and smg. Where the prefill half never comes,
# the decode half waits for it, and so does a router that passes no error on before both have answered.
OUTCOMES: dict[tuple[Role, str], tuple[str, str, str]] = {
    ("prefill", "refused"): ("silence", "silence", "retried"),
    ("prefill", "bad_request"): ("silence", "silence", "status 400"),
    ("prefill", "dropped"): ("silence", "cut", "sent twice"),
    ("prefill", "lost"): ("retried", "cut", "sent twice"),
    ("prefill", "cut"): ("unnoticed", "unnoticed", "unnoticed"),
    ("decode", "refused"): ("silence", "silence", "retried"),
    ("decode", "bad_request"): ("silence", "silence", "status 400"),
    ("decode", "dropped"): ("silence", "cut", "sent twice"),
    ("decode", "lost"): ("retried", "cut", "sent twice"),
    ("decode", "error_in_200"): ("error in 200", "error in 200", "error in 200"),
    ("decode", "no_done"): ("unnoticed", "unnoticed", "unnoticed"),
    ("decode", "cut"): ("cut", "cut", "error in 200"),
}
