"""A plugin of pytest with what numba-cuda's tests expect of their configuration, which its package has not."""

import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """Reproducers of failed comparisons of code are not wanted."""
    request.cls._dump_failed_filechecks = False
