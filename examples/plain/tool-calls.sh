#!/bin/sh
# Tool calls with nothing but curl. Its argument is the Idempotency-Key: run it twice with one, and nothing runs twice.
set -eu

url=${RECOURSE_URL:-http://127.0.0.1:8080}
key=${1:-plain-$(date +%s)-$$}

# Tries again what is worth it (no connection, 408, 429, 5xx), after the time in Retry-After.
send() {
  curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused \
    --header 'Content-Type: application/json' --header "Authorization: Bearer ${RECOURSE_API_KEY:-}" "$@"
}

# An answer that is lost (curl's 18, 28, 52, 55, 56) is asked for once more: under the same key nothing runs twice.
post() {
  code=0
  send "$@" || code=$?
  case $code in
    18 | 28 | 52 | 55 | 56) code=0; send "$@" || code=$? ;;
  esac
  case $code in
    0) echo ;;
    18 | 28 | 52 | 55 | 56)
      echo 'No answer came, and the calls may have run. Send them again with the same key to learn their results:' >&2
      echo "  sh $0 $key" >&2
      exit 1 ;;
    *) exit "$code" ;;
  esac
}

# Calls as the service has them: one result for each, in its place.
post "$url/tool-calls" --header "Idempotency-Key: $key" --data '{
  "session_id": "plain",
  "calls": [
    { "id": "a", "name": "read_file", "arguments": { "path": "notes.md" } },
    { "id": "b", "name": "read_file", "arguments": { "path": "note.md" } }
  ]
}'

# A message of a model as its provider gave it, here Anthropic's: the answer is the next message of the conversation.
post "$url/tool-calls?format=anthropic&raw=true&session_id=plain" --header "Idempotency-Key: $key-2" --data '{
  "role": "assistant",
  "content": [{ "type": "tool_use", "id": "toolu_1", "name": "echo", "input": { "text": "Hello." } }]
}'
