#!/usr/bin/env bash
# Runs an agent on task.md, unattended, and says how it ended. Further arguments go to marvin:
#   MAX_COST=5 DEADLINE=1800 ./agent.sh --provider anthropic
# The result with answer, cost and the path of the record is in result.json.
set -u

marvin --non-interactive --prompt-file task.md --working-dir . \
  --max-cost "${MAX_COST:-2}" --max-rounds 40 --deadline "${DEADLINE:-900}" \
  --commitment 'tests_pass:command python3 -m unittest discover' --oracle tests \
  --output-format json "$@" > result.json
code=$?

case $code in
  0) echo "done, and the tests prove it" ;;
  1) echo "not done: the model could not be reached, or rounds or time ran out" ;;
  2) echo "wrong usage: a flag, a setting or a key" ;;
  3) echo "not verified: the agent says that it is done, the tests say that it is not" ;;
  4) echo "blocked: the agent needs a person" ;;
  5) echo "refused by the gate" ;;
  6) echo "the budget is spent" ;;
  130) echo "interrupted" ;;
  *) echo "unknown exit code $code" ;;
esac
exit "$code"
