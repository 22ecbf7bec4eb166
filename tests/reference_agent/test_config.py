"""Configuration files: merging and what a person reads when one is wrong."""

from pathlib import Path

import pytest

from scenarios.reference_agent.config import ConfigError, OpenAIChatConfig, ReplayConfig, load_config

AGENT = Path(__file__).absolute().parents[2] / "scenarios" / "reference_agent"


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / name
    file.write_text(text)
    return file


def test_overlay_replaces_the_adapter_and_nothing_else() -> None:
    deployed = load_config(AGENT / "fixtures.config.yaml", [])
    replayed = load_config(AGENT / "fixtures.config.yaml", [AGENT / "replay.overlay.yaml"])
    assert isinstance(deployed.model.adapter, OpenAIChatConfig)
    assert isinstance(replayed.model.adapter, ReplayConfig)
    assert replayed.model.model_copy(update={"adapter": deployed.model.adapter}) == deployed.model
    assert replayed.model_copy(update={"model": deployed.model}) == deployed


def test_deployment_differs_from_the_defaults_in_nothing() -> None:
    deployed = load_config(AGENT / "config.yaml", [])
    assert deployed == type(deployed)(config_dir=AGENT)


def test_mappings_merge_key_by_key(tmp_path: Path) -> None:
    base = write(tmp_path, "a.yaml", "retry: {max_retries: 5, backoff_ms: 7}\nhooks: []\n")
    top = write(tmp_path, "b.yaml", "retry: {backoff_ms: 1}\n")
    config = load_config(base, [top])
    assert (config.retry.max_retries, config.retry.backoff_ms) == (5, 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("retries: {}", '"retries": is not a known key'),
        ("retry: {max_retries: -1}", '"retry.max_retries": Input should be greater than or equal to 0'),
        ("model: {adapter: {kind: magic}}", "\"model.adapter\": Input tag 'magic'"),
        ("permissions: {mode: yolo}", "\"permissions.mode\": Input should be 'ask', 'auto' or 'read-only'"),
        ("- a", "holds a list, not a mapping"),
        ("a: [", "is not YAML"),
    ],
)
def test_wrong_file_is_explained_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = write(tmp_path, "bad.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_config(file, [])
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert complaint in message
    assert "\n" not in message


def test_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "none.yaml", [])
