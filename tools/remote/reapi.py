"""Calls of the Remote Execution API with an empty request, through curl, as the standard library has no HTTP/2."""

import subprocess

from tools.remote.errors import RemoteError

CAPABILITIES = "build.bazel.remote.execution.v2.Capabilities/GetCapabilities"
FIND_MISSING = "build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs"
ANSWER_S = 20
# gRPC's frame: a byte that is 0 for "not compressed", and four of length.
HEADER_BYTES = 5


def frame(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(HEADER_BYTES - 1) + message


def call(method: str, *, address: str = "localhost", unix: str | None = None) -> bytes:
    """The answer to `method`, asked at address, or at a Unix socket. Raises RemoteError without one."""
    where = ["--unix-socket", unix] if unix else []
    command = [
        "curl",
        "--silent",
        "--show-error",
        "--fail",
        "--noproxy",
        "*",
        "--max-time",
        str(ANSWER_S),
        "--http2-prior-knowledge",
    ]
    headers = [
        "--header",
        "content-type: application/grpc",
        "--header",
        "te: trailers",
        "--data-binary",
        "@-",
    ]
    done = subprocess.run(
        [*command, *where, *headers, f"http://{address}/{method}"],
        input=frame(b""),
        capture_output=True,
        check=False,
    )
    # An error comes in the headers, without a message.
    if done.returncode or len(done.stdout) < HEADER_BYTES:
        said = done.stderr.decode(errors="replace").strip() or "an error"
        raise RemoteError(f"{unix or address}: {method.rpartition('/')[2]} was answered with {said}")
    return done.stdout[HEADER_BYTES:]


def probe(address: str) -> None:
    """Asks the storage behind the front, which answers by itself only what it can do."""
    for method in (CAPABILITIES, FIND_MISSING):
        call(method, address=address)
