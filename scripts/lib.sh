# Shared by the scripts here: builds the two programs into a temporary folder
# that goes away at the end, and reads numbers out of their JSON. To be sourced.
# With --help it prints the comment at the head of the script instead, and ends.
set -eu
if [ "${1:-}" = --help ]; then
  sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
cleanup() {
  local pids
  pids=$(jobs -p)
  [ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
go build -o "$work/bin/" ./master ./worker
master=$work/bin/master
worker=$work/bin/worker

# field NAME < JSON: the first value of that name, without quotes.
field() { grep -o "\"$1\":\(\"[^\"]*\"\|[^,}]*\)" | head -1 | cut -d: -f2- | tr -d '"'; }

# fail SENTENCE: says what is wrong and ends the script.
fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# seconds_since START: from date +%s.%N
since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }'; }
