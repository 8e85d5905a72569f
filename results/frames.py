"""A stored run as pandas frames, for notebooks.

Owns: nothing but the hand-over. A closed run is read from its tables, an interrupted one from its lines, so a
notebook sees the same columns either way. Floor 3. Source: ours.
"""

from __future__ import annotations

import pandas as pd

from results import layout, parquet
from results.reader import Run


def turn_frame(run: Run) -> pd.DataFrame:
    """One row a turn; columns as `parquet.TURN_SCHEMA`."""
    table = run.path / layout.TURNS_TABLE
    if table.exists():
        return pd.read_parquet(table)
    return pd.DataFrame(parquet.turn_table(run.turns, run.judgements).to_pandas())


def finding_frame(run: Run) -> pd.DataFrame:
    """One row a finding that is not OK; columns as `parquet.FINDING_SCHEMA`."""
    table = run.path / layout.FINDINGS_TABLE
    if table.exists():
        return pd.read_parquet(table)
    return pd.DataFrame(parquet.finding_table(run.judgements).to_pandas())
