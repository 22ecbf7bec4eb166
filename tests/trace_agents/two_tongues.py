"""An agent that speaks as others record: `blocks` are a session log's messages, `parts` those of OpenTelemetry.

Its model is a rule: who has heard its tool answers, else it is asked for. ANOTHER in the environment makes it another
agent: another prompt and another input. Standard library only.
"""

import json
import os
import sys

ANOTHER = "ANOTHER" in os.environ
COMMAND = "wc -c *.txt" if ANOTHER else "cat *.txt | wc -l"
CITY = "Rome" if ANOTHER else "Paris"


def blocks(task, outputs):
    """What a model call is asked with, and what the model says to it."""
    arguments = json.dumps({"command": COMMAND}, separators=(",", ":"))
    wish = {
        "role": "assistant",
        "content": [{"type": "tool-call", "id": "call_1", "name": "bash", "arguments": arguments}],
    }
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": task}]},
    ]
    for output in outputs:
        said = [{"type": "text", "text": output}]
        result = {"type": "tool-result", "toolCallId": "call_1", "content": said, "isError": False}
        messages += [wish, {"role": "tool", "content": [result]}]
    said = f"The text files have {''.join(outputs).strip()} lines together."
    reply = {"role": "assistant", "content": [{"type": "text", "text": said}]} if outputs else wish
    return {"messages": messages, "model_name": "smollm2-135m-instruct"}, reply


def parts(task, outputs):
    """The same in parts; the first call alone has a system message."""
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"in": CITY}}
    wish = {"role": "assistant", "parts": [call]}
    question = {"role": "user", "parts": [{"type": "text", "content": task}]}
    messages = [{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}, question]
    for output in outputs:
        messages = [
            question,
            wish,
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": output}]},
        ]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}]}
    asked = {"messages": messages, "model_name": "m", "temperature": 0.5, "tools": [{"name": "weather"}]}
    return asked, said if outputs else wish


def read(reply):
    """The text of a reply, or the tool that it wants and its input."""
    [block] = reply.get("content") or reply["parts"]
    if block["type"] == "text":
        return block.get("text", block.get("content")), None
    wanted = block["arguments"]
    return block["name"], json.loads(wanted) if isinstance(wanted, str) else wanted


def ask(fields, live):
    print(json.dumps(fields), flush=True)
    answer = json.loads(sys.stdin.readline())
    if answer.get("over"):
        sys.exit(0)
    if answer.get("live"):
        print(json.dumps({"op": "done", "id": fields["id"], "result": live}), flush=True)
        return live
    return answer["result"]


def run(task, tongue):
    outputs = []
    while True:
        asked, rule = tongue("Again: " + task if ANOTHER else task, outputs)
        name, wanted = read(ask({"op": "model", "id": f"m{len(outputs)}", **asked}, rule))
        if wanted is None:
            return name
        outputs.append(
            ask({"op": "tool", "id": f"t{len(outputs)}", "name": name, "input": wanted}, "nothing")
        )


def main():
    tongue = {"blocks": blocks, "parts": parts}[sys.argv[1]]
    print(json.dumps({"op": "hello", "protocol": 1, "runs": "many"}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"op": "final", "answer": run(json.loads(line)["task"], tongue)}), flush=True)


main()
