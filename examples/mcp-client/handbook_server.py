"""A server of the Model Context Protocol over standard input and output, with one tool and no dependency."""

import json
import sys

HANDBOOK = {
    "holidays": "30 days a year; ask two weeks before.",
    "towels": "Always know where yours is.",
}

TOOLS = [
    {
        "name": "look_up",
        "description": "Looks up a topic of the handbook: " + ", ".join(sorted(HANDBOOK)),
        "inputSchema": {
            "type": "object",
            "properties": {"topic": {"type": "string"}},
            "required": ["topic"],
        },
    }
]


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "handbook", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        topic = params["arguments"]["topic"]
        known = topic in HANDBOOK
        text = HANDBOOK[topic] if known else f"no such topic: {topic}"
        return {"content": [{"type": "text", "text": text}], "isError": not known}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
