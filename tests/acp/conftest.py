"""The schema table that these tests validate with, made once from the installed agent-client-protocol package."""

import orjson
import pytest
from hypothesis import settings

from replay.acp import Tables, load_tables
from replay.acp.generate_schema import build_table

# A test target has one verdict: the same examples in every run, however busy the machine.
settings.register_profile("hermetic", derandomize=True, deadline=None, database=None)
settings.load_profile("hermetic")


@pytest.fixture(scope="session")
def table_bytes() -> bytes:
    return orjson.dumps(build_table())


@pytest.fixture(scope="session")
def tables(table_bytes: bytes) -> Tables:
    return load_tables(table_bytes)
