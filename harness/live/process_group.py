"""A process that was started as the leader of its own group, told something together with all that it started.

Owns: the telling. Does not own: starting it, waiting for it. Only a group that was made for a child of ours is ever
told anything (`start_new_session`). Floor 5. Source: ours.
"""

from __future__ import annotations

import os
import signal


def tell_group(leader: int, number: signal.Signals) -> None:
    """Effect: a signal to all that is left of the group; none where all of it has ended. leader: its process id."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        # Some systems say the latter of a group of which nobody has yet asked how it ended.
        return
