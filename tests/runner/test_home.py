"""The home seed: templates filled and copied, other braces kept, no way out of the home."""

from pathlib import Path

import pytest

from replay.errors import UsageError
from replay.runner.home import seed_home


def test_template_is_filled_and_other_braces_stay(tmp_path: Path) -> None:
    template = tmp_path / "models.json"
    template.write_bytes(b'{"url": "{gateway_url}/v1", "in": {"home": "{home}"}, "else": "{other}"}\r\n')
    home = tmp_path / "home"
    home.mkdir()
    values = {"gateway_url": "http://127.0.0.1:1", "home": str(home)}
    seed_home(str(home), {".agent/models.json": str(template)}, values)
    made = home / ".agent" / "models.json"
    assert made.read_bytes() == (
        f'{{"url": "http://127.0.0.1:1/v1", "in": {{"home": "{home}"}}, "else": "{{other}}"}}\r\n'.encode()
    )
    assert not made.is_symlink()
    made.write_text("changed")
    assert b"{gateway_url}" in template.read_bytes()


@pytest.mark.parametrize("name", ["/etc/agent.json", "../agent.json", "a/../../agent.json", ".", ".."])
def test_path_outside_the_home_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lies outside the agent's home"):
        seed_home(str(tmp_path), {name: "unread"}, {})


def test_template_that_is_no_text_is_refused(tmp_path: Path) -> None:
    template = tmp_path / "logo.png"
    template.write_bytes(b"\x89PNG\xff")
    with pytest.raises(UsageError, match=r'the template of "logo[.]png" is not UTF-8'):
        seed_home(str(tmp_path), {"logo.png": str(template)}, {})
