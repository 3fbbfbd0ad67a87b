"""Records as tables of other libraries."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List

from ._errors import SimtlabError


def dataframe(records: List[Dict[str, Any]], library: str) -> Any:
    """A data frame of pandas or Polars."""
    if library not in ("pandas", "polars"):
        raise SimtlabError(f"tables are made by 'pandas' or 'polars', not by {library!r}")
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise SimtlabError(f"to_dataframe needs {library}: pip install {library}") from error
    return module.DataFrame(records)
