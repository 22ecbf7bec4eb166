"""A provider for the test of the record command: JSON-RPC lines, and a model that it asks over HTTP.

Arguments: the model's base URL, and what it does besides: "die" ends it after the answer, "chatty" asks once more,
"leaky" says what looks like a key.
"""

import json
import sys
import urllib.request
from pathlib import Path
from uuid import uuid4


def main() -> None:
    url, *kinds = sys.argv[1:]
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["method"] != "turn/start":
            continue
        identity = str(uuid4())
        say(
            {
                "method": "turn/started",
                "params": {"turn": identity, "cwd": str(Path.cwd()), "home": str(Path.home())},
            }
        )
        text = ask(url, frame["params"]["text"])
        if "chatty" in kinds:
            ask(url, "more")
        if "leaky" in kinds:
            identity = "sk-ant-" + "api03-" + "Zq8" * 20
        say({"id": frame["id"], "result": {"turn": identity, "text": text, "model": url}})
        if "die" in kinds:
            sys.exit(5)


def say(frame: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def ask(url: str, text: str) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        said: str = json.loads(response.read())["choices"][0]["message"]["content"]
        return said


if __name__ == "__main__":
    main()
