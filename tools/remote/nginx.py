"""nginx as a cache over HTTP, and as the front of an engine that speaks gRPC."""

import hashlib
import http.client
import socket
from collections.abc import Iterable
from pathlib import Path

from tools.remote.errors import RemoteError
from tools.remote.supervisor import Daemon, Step

PROBE = b"agent_replay\n"
PROBE_S = 20

_FRAME = """\
daemon off;
user root;
pid /run/nginx.pid;
worker_processes 1;
error_log stderr notice;
events {{ worker_connections 1024; }}
http {{
  access_log {log}/access.log;
  client_body_temp_path {tmp};
  client_max_body_size 0;
  # Nothing is written there, yet nginx makes them.
  fastcgi_temp_path /run/fastcgi;
  proxy_temp_path /run/proxy;
  scgi_temp_path /run/scgi;
  uwsgi_temp_path /run/uwsgi;
  server {{
    listen {address};
{server}
  }}
}}
"""

_CACHE = """\
    root {data};
    # An entry appears under its name when it is whole: it is written to {tmp} and renamed.
    location ~ "^/(ac|cas)/[0-9a-f]{{64}}$" {{
      dav_methods PUT;
      create_full_put_path on;
      limit_except GET HEAD PUT {{ deny all; }}
      # An empty result of an action would be read as a success without outputs.
      set $asked "$uri $request_method$content_length";
      if ($asked ~ "^/ac/[^ ]* PUT0?$") {{ return 400; }}
    }}
    location / {{ return 404; }}
"""

_GRPC = """\
    http2 on;
    # An execution says nothing while its action runs.
    grpc_read_timeout 1d;
    grpc_send_timeout 1d;
    location / {{ grpc_pass grpc://unix:{unix}; }}
"""


def daemon(directory: Path, listener: socket.socket, server: str) -> Daemon:
    """nginx with one server, on a socket that it inherits as it does from its predecessor when it is replaced."""
    config = directory / "nginx.conf"
    config.write_text(
        _FRAME.format(
            log=directory / "log",
            tmp=directory / "tmp",
            address="{}:{}".format(*listener.getsockname()),
            server=server,
        )
    )
    number = listener.fileno()
    return Daemon(
        name="nginx",
        command=("nginx", "-e", "stderr", "-c", str(config)),
        ready="start worker process [0-9]",
        environment={"NGINX": f"{number};"},
        inherits=(number,),
    )


def grpc_server(unix: str) -> str:
    """Passes every call on to a Unix socket, for as long as it takes: an execution is one call."""
    return _GRPC.format(unix=unix)


def cache_steps(directory: Path, listener: socket.socket) -> Iterable[Step]:
    """A cache as Bazel's --remote_cache wants it: GET, HEAD and PUT of /ac/KEY and /cas/DIGEST, nothing else."""
    server = _CACHE.format(data=directory / "data", tmp=directory / "tmp")
    yield daemon(directory, listener, server)


def probe_cache(address: str) -> None:
    """Stores an entry and reads it back."""
    path = f"/cas/{hashlib.sha256(PROBE).hexdigest()}"
    for method, body, accepted in (("PUT", PROBE, (201, 204)), ("GET", None, (200,))):
        connection = http.client.HTTPConnection(address, timeout=PROBE_S)
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if response.status not in accepted:
            raise RemoteError(
                f"http://{address}: {method} was answered with {response.status}: another program has the port"
            )
    if answer != PROBE:
        raise RemoteError(
            f"http://{address}: it did not give back what was stored: another program has the port"
        )
