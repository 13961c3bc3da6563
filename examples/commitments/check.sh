#!/usr/bin/env bash
# No item of the stock is sold out.
set -eu
if grep -o '"[a-z]*": 0\b' stock.json; then
  echo "sold out" >&2
  exit 1
fi
