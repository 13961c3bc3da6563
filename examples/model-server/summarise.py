"""A program that uses a model: a title for a text on standard input."""

import json
import os
import sys
import urllib.request


def summarise(text):
    request = urllib.request.Request(
        os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions",
        data=json.dumps({
            "model": os.environ.get("MODEL", "gpt-5.2"),
            "messages": [{"role": "user", "content": "A title for this text, please:\n" + text}],
        }).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        reply = json.load(response)
    return reply["choices"][0]["message"]["content"].strip()


if __name__ == "__main__":
    print(summarise(sys.stdin.read()))
