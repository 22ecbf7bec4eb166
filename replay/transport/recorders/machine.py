"""The recorder's one door to the machine: whose account records, and where its directories lie."""

import os
import pwd
import tempfile
from collections.abc import Mapping

from replay.transport.recorders.redaction import WORKSPACE, Known

__all__ = ["read_known"]


def read_known(workspace: str, secrets: Mapping[str, str]) -> Known:
    """What a recording on this machine must not say. secrets: by variable, as credential_values gives them."""
    host = os.uname().nodename
    places = {WORKSPACE: spellings(workspace), "/tmp": spellings(tempfile.gettempdir())}
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:
        return Known(places, (), "", host, secrets)
    homes = spellings(account.pw_dir) if account.pw_dir else []
    return Known(places, homes, account.pw_name, host, secrets)


def spellings(path: str) -> list[str]:
    """A directory as it is given and as it really is."""
    absolute = os.path.abspath(path)
    return list(dict.fromkeys((absolute, os.path.realpath(absolute))))
