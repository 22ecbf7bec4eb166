"""The model seam of a live run: the agent talks to the recording proxy, and the proxy to its provider.

The caller's key goes from here into the requests and nowhere else. With earlier turns the first calls are answered from
the recording that there is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from replay.errors import ReplayError, UsageError
from replay.models.call_log import ModelCall
from replay.models.codecs import load_codec
from replay.models.gateway import Gateway
from replay.models.recording_proxy import Earlier, RecordingProxy
from replay.models.upstream import Upstream
from replay.runner.request_key import make_key
from replay.runner.seam import SeamOrder, proxy_variables
from replay.script import Lane, Player

__all__ = ["ANY_KEY", "RecordSeam", "Source", "api_key"]

ANY_KEY = "AGENT_REPLAY_KEY"
"""The variable whose key is taken before the provider's own."""


class Source(NamedTuple):
    """Where live answers come from. `upstream` is a URL, "" for the provider's own; `model` "" for the agent's.

    ended: told of each live call that came to its end, from a thread of its own.
    """

    upstream: str
    model: str
    environment: Mapping[str, str]
    ended: Callable[[ModelCall], None]


class RecordSeam:
    """One live run. `calls` is complete after `close`."""

    def __init__(self, order: SeamOrder, source: Source, earlier: Sequence[Lane] = ()) -> None:
        """earlier: lanes whose calls are answered from the recording, before any goes to the provider.

        Raises UsageError for an agent that does not say what it speaks, a URL that is none, a key that is missing.
        """
        agent = order.agent
        if not agent.live_api:
            raise UsageError(
                f'the agent "{agent.name}" does not say which API it speaks when it is not replayed',
                fix='write live_api = "openai_chat" (or another) and live_env = {"…_BASE_URL": "{gateway_url}"} in its acp_agent',
            )
        codec = load_codec(agent.live_api)
        upstream = Upstream(source.upstream or codec.UPSTREAM, codec.BASE_PATH)
        key = make_key(order)
        self._player: Player | None = None
        before = None
        if any(lane.calls for lane in earlier):
            journal: list[dict[str, object]] = []
            self._player = Player(
                earlier, journal=journal.append, allow_arrival_order=bool(order.options.arrival_order)
            )
            gateway = Gateway(self._player, agent.live_api, key=key, cwd=order.sandbox.cwd, journal=journal)
            before = Earlier(gateway, sum(len(lane.calls) for lane in earlier))
        self._proxy = RecordingProxy(
            agent.live_api,
            upstream,
            key,
            api_key=api_key(codec.KEY_VARIABLES, upstream, source.environment),
            model=source.model,
            ended=source.ended,
            earlier=before,
        )
        url = self._proxy.start()
        self.values: Mapping[str, str] = {"gateway_url": url, "gateway_origin": self._proxy.origin}
        self.environment: Mapping[str, str] = proxy_variables(self._proxy.origin)
        self.arguments: Sequence[str] = agent.live_args
        self.variables: Mapping[str, str] = agent.live_env

    def divergence(self) -> ReplayError | None:
        if self._proxy.fault is not None:
            raise self._proxy.fault
        return self._proxy.divergence

    def unconsumed(self) -> list[str]:
        return [] if self._player is None else self._player.unconsumed()

    def findings(self) -> list[str]:
        return [str(finding["message"]) for finding in self._proxy.findings]

    def calls(self) -> list[ModelCall]:
        return self._proxy.calls

    def close(self) -> None:
        self._proxy.stop()


def api_key(variables: Sequence[str], upstream: Upstream, environment: Mapping[str, str]) -> str:
    """The caller's key for a provider. Raises UsageError where one is needed and there is none."""
    for name in (ANY_KEY, *variables):
        if environment.get(name):
            return environment[name]
    if upstream.is_loopback:
        return ""
    named = " or ".join((*variables, ANY_KEY))
    raise UsageError(
        f"there is no key for {upstream.url}: {named} is not set",
        fix="export it in the shell that records; it is put into the requests and written nowhere",
    )
