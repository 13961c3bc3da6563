"""Print the findings of a review as annotations of GitHub Actions; the argument is the result of the run."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    result = json.load(file)

for finding in result["structured_output"]["findings"]:
    print(f"::warning file={finding['file']},line={finding['line']}::{finding['message']}")
