#!/usr/bin/env bash
# Pins what is computed, so that a change of names and places can show that it changed nothing else:
#   tests/freeze.sh write    writes tests/frozen.txt from the present build
#   tests/freeze.sh check    compares the present build with it; instruction counts may differ by 3 %
# Pinned are: digest, frames, contacts and worst overlap of every golden scene under every executor; statistics of
# the single-threaded ones, whose schedule is fixed; the counts of the model checker and where each deliberate fault
# shows; instruction counts of fixed runs (with valgrind only). It takes about ten minutes, so ./test does not run it.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked -q
anachron=$PWD/target/release/anachron
frozen=tests/frozen.txt

# scenario, bodies, seconds, one parameter: the runs of src/scenarios/golden.rs.
scenes() {
    cat <<'SCENES'
parallel 50 1 -
cylinders 200 1.5 -
bouncing 60 1 density=lo
bouncing 60 1 -
bouncing 60 1 density=hi
bouncing 200 1 volume_m3=100
gas 500 1 -
bowl 200 1.5 -
pyramid 55 0.5 -
stack 10 1 -
stack 10 1 shape=sphere
newton-cradle 5 2.5 -
billiards 16 1 -
SCENES
}
jointed() {
    cat <<'SCENES'
building 130 0.5 -
bridge 61 0.25 -
four-way-bridge 71 0.25 -
chain-net 40 0.4 -
SCENES
}

# The numbers of a run that must not change, from its JSON object.
pick() {
    local json=$1; shift
    for key in "$@"; do
        # The first occurrence: top-level keys come before those of `speculation`.
        printf ' %s=%s' "$key" "$(grep -oE "\"$key\":(\"[^\"]*\"|[^,}]*)" <<<"$json" | head -1 | cut -d: -f2 | tr -d '"')"
    done
}

# run SCENARIO BODIES SECONDS PARAMETER FLAGS...
run() {
    local name=$1 bodies=$2 seconds=$3 parameter=$4; shift 4
    local set=(); [ "$parameter" = - ] || set=(--set "$parameter")
    local json; json=$("$anachron" run "$name" --bodies "$bodies" --seconds "$seconds" "${set[@]}" "$@" --quiet --json)
    printf 'run %s %s %s %s:' "$name" "$bodies" "$parameter" "$*"
    pick "$json" digest frames contacts contact_ticks max_overlap_m
    case "$*" in
    *loop* | *chaos* | *rollback-check*)
        pick "$json" steps ticks_undone primary_rollbacks secondary_rollbacks responses events antievents ;;
    esac
    echo
}

runs() {
    while read -r scene; do
        # shellcheck disable=SC2086
        for flags in "--sync sequential" "--sync loop" "--sync loop --cluster 1" "--sync rollback-check" \
            "--sync chaos --chaos-seed 0" "--sync chaos --chaos-seed 1 --cluster 1" \
            "--sync timewarp --cores 1" "--sync timewarp --cores 2 --cluster 1" "--sync timewarp --cores 4" \
            "--sync timewarp --cores 2 --tvht actors" "--sync sequential --bridge auto" \
            "--sync timewarp --cores 2 --bridge auto" "--sync overlap --workers 1" "--sync overlap --workers 2 --cores 2"; do
            # One actor per body in a pyramid takes minutes under an adversarial schedule.
            case "$scene $flags" in pyramid*chaos*"cluster 1" | pyramid*"loop --cluster 1") continue ;; esac
            run $scene $flags
        done
    done < <(scenes)
    while read -r scene; do
        # shellcheck disable=SC2086
        for flags in "--sync overlap --workers 1 --cores 1" "--sync overlap --workers 2 --cores 2" "--sync overlap --workers 3 --cores 2"; do
            run $scene $flags
        done
    done < <(jointed)
}

model() {
    cargo test --release --locked -q --test protocol model -- --nocapture --test-threads 1 2>&1 |
        grep -E '^all: |^[a-z][a-z-]+ .* [0-9]+  [A-Za-z]|^[a-z].* +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+$' | tr -s ' ' | sed 's/^/model /'
}

instructions() {
    command -v valgrind >/dev/null || return 0
    while read -r name bodies seconds sync; do
        local count
        count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$anachron" run "$name" --bodies "$bodies" \
            --seconds "$seconds" --sync "$sync" --cores 1 --quiet 2>&1 | grep -oE 'Collected : [0-9]+' | grep -oE '[0-9]+')
        echo "instructions $name $bodies $seconds $sync: $count"
    done <<'RUNS'
cylinders 200 1 sequential
cylinders 200 1 loop
bouncing 200 0.5 sequential
bouncing 200 0.5 loop
gas 1000 0.5 sequential
gas 1000 0.5 loop
pyramid 55 0.2 sequential
bowl 200 1 loop
bridge 61 0.1 overlap
RUNS
}

everything() { runs; model; instructions; }

case "${1:-}" in
write) everything >"$frozen" && echo "tests/freeze.sh: wrote $(wc -l <"$frozen") lines" ;;
check)
    now=$(mktemp); trap 'rm -f "$now"' EXIT
    everything >"$now"
    diff <(grep -v ^instructions "$frozen") <(grep -v ^instructions "$now") && echo "results, model and faults: unchanged"
    join -t: <(grep ^instructions "$frozen" | sort) <(grep ^instructions "$now" | sort) |
        awk -F: '{ r = $3 / $2; printf "%s: %.4f of before\n", $1, r; if (r > 1.03) bad = 1 } END { exit bad }' ;;
*) echo "tests/freeze.sh: say write or check" >&2; exit 2 ;;
esac
