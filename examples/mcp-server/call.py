"""Call one tool of the server in .mcp.json and print its structured result: call.py TOOL ARGUMENTS-AS-JSON"""

import json
import subprocess
import sys

with open(".mcp.json", encoding="utf-8") as file:
    settings = json.load(file)["mcpServers"]["marvin"]
command = [settings["command"], *settings["args"]]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def request(number, method, params):
    send({"id": number, "method": method, "params": params})
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            return message
    raise SystemExit("the server ended without an answer")


client = {"name": "call.py", "version": "1"}
request(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
send({"method": "notifications/initialized"})
tool, arguments = sys.argv[1:]
answer = request(2, "tools/call", {"name": tool, "arguments": json.loads(arguments)})
server.stdin.close()
server.wait()
if "error" in answer or answer["result"].get("isError"):
    raise SystemExit(json.dumps(answer.get("error") or answer["result"]["content"], indent=2))
print(json.dumps(answer["result"]["structuredContent"], indent=2))
