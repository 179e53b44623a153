#!/usr/bin/env python3
"""anachron beside other engines on the same scenes: interleaved runs, medians, a Markdown table.

    bench/peers.py --anachron target/release/anachron --peers PATH/TO/peers [--repeat 5] [--out results.json]

PEERS is a program that takes `--engine E --scene S --n N --threads T --dt 1/60 --seconds S` and prints one JSON
object with `wall_s`, `ke_ratio` and `max_overlap`. anachron runs at its own tick of 1/240 s; the others run at 1/60 s
with their default settings, sleeping off. The others put out nothing; anachron evaluates and hashes 60 frames per
second, or one with `--ways "--set ticks_per_frame=240"`. Building and taking down a scene is not
counted. Every row prints energy and worst overlap of both sides, so that less computation shows.
"""

import argparse
import json
import statistics
import subprocess
import sys

SERIAL = ["rapier", "bullet", "ode"]
THREADED = ["rapier-par", "jolt", "box3d"]

# Name, scene for the peers, scene for anachron, bodies, simulated seconds, target: times faster than the best peer.
SCENES = [
    ("parallel 10,000", "parallel", ["parallel"], 10_000, 1.0, 5.0),
    ("gas 10,000", "gas", ["gas"], 10_000, 1.0, 5.0),
    ("gas 65,536", "gas", ["gas"], 65_536, 0.5, 5.0),
    ("bouncing lo, 200", "bouncing-lo", ["bouncing", "--set", "density=lo"], 200, 4.0, 2.0),
    ("cylinders 200", "cylinders", ["cylinders"], 200, 3.0, 1.0),
    ("cylinders 500", "cylinders", ["cylinders"], 500, 3.0, 1.0),
    ("cylinders 10,000", "cylinders", ["cylinders"], 10_000, 3.0, 1.0),
    ("bouncing mid, 200", "bouncing-mid", ["bouncing", "--set", "density=mid"], 200, 4.0, 1.0),
    ("bouncing hi, 200", "bouncing-hi", ["bouncing", "--set", "density=hi"], 200, 4.0, 1.0),
]


def ask(command, patience_s):
    """The last JSON object a command prints; nothing if it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience_s, check=False)
    except subprocess.TimeoutExpired:
        print("too slow:", " ".join(command), file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        print("failed:", " ".join(command), done.stderr[-300:], file=sys.stderr)
        return None
    return json.loads(lines[-1])


def contenders(options, peers_scene, scene, bodies, seconds):
    """The contenders: name and command."""
    ours = [options.anachron, "run", *scene, "--bodies", str(bodies), "--seconds", str(seconds), "--json", "--quiet"]
    for how in options.ways:
        yield f"anachron {how}", [*ours, *how.split()]
    theirs = [options.peers, "--scene", peers_scene, "--n", str(bodies), "--dt", "1/60", "--seconds", str(seconds)]
    threads = range(1, options.threads + 1)
    engines = options.engines.split(",") if options.engines else SERIAL + THREADED
    for engine in engines:
        if engine == "ode" and bodies > 20_000:
            continue
        for count in threads if engine in THREADED else [1]:
            yield f"{engine} {count}T", [*theirs, "--engine", engine, "--threads", str(count)]


def measure(options, entry):
    """Interleaved repetitions of one scene: wall seconds per simulated second, energy and overlap of each contender."""
    name, peers_scene, scene, bodies, seconds, target = entry
    taking_part = dict(contenders(options, peers_scene, scene, bodies, seconds))
    runs = {contender: [] for contender in taking_part}
    for _ in range(options.repeat):
        for contender, command in taking_part.items():
            told = ask(command, options.patience) if runs[contender] is not None else None
            if told is None:
                runs[contender] = None
            else:
                runs[contender].append(told)
    rows = {}
    for contender, all_told in runs.items():
        if not all_told:
            continue
        walls = [stepping_s(told) / seconds for told in all_told]
        last = all_told[-1]
        energy = last["energy_drift"] if contender.startswith("anachron") else (last.get("ke_ratio") or 1.0) - 1.0
        overlap = last["max_overlap_m"] if contender.startswith("anachron") else last.get("max_overlap")
        rows[contender] = {
            "median": statistics.median(walls),
            "low": min(walls),
            "high": max(walls),
            "energy_change": energy,
            "overlap_m": overlap,
        }
    return {"scene": name, "target": target, "repeat": options.repeat, "rows": rows}


def stepping_s(told):
    """Wall seconds without those for starting and stopping actors, if there are any."""
    return told["wall_s"] - (told.get("speculation") or {}).get("start_stop_s", 0.0)


def told(row):
    overlap = "?" if row["overlap_m"] is None else f"{row['overlap_m'] * 1e3:.0f} mm"
    return f"{row['median']:.4g} ({row['low']:.4g} to {row['high']:.4g}); {row['energy_change']:+.1%}, {overlap}"


def table(results):
    lines = [
        "| scene | anachron, s per simulated s (range); energy, overlap | best peer | ratio | target |",
        "|---|---|---|---:|---:|",
    ]
    for result in results:
        ours = {contender: row for contender, row in result["rows"].items() if contender.startswith("anachron")}
        theirs = {contender: row for contender, row in result["rows"].items() if not contender.startswith("anachron")}
        if not ours or not theirs:
            continue
        us = min(ours, key=lambda contender: ours[contender]["median"])
        them = min(theirs, key=lambda contender: theirs[contender]["median"])
        ratio = theirs[them]["median"] / ours[us]["median"]
        lines.append(
            f"| {result['scene']} | {us.removeprefix('anachron ')}: {told(ours[us])} | {them}: {told(theirs[them])} "
            f"| {ratio:.2f} | {result['target']:g} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anachron", required=True, help="the program")
    parser.add_argument("--peers", required=True, help="the program that runs the other engines")
    parser.add_argument("--ways", action="append", help="flags of anachron; may be repeated; default: its defaults")
    parser.add_argument("--engines", help="comma-separated; all if not given")
    parser.add_argument("--threads", type=int, default=2, help="most threads of the others")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--patience", type=float, default=600.0, help="seconds a run may take")
    parser.add_argument("--only", help="scenes with this in their name")
    parser.add_argument("--out", help="keep all figures in this JSON file")
    options = parser.parse_args()
    options.ways = options.ways or [""]
    results = []
    for entry in SCENES:
        if options.only and options.only not in entry[0]:
            continue
        results.append(measure(options, entry))
        print(table(results[-1:]).splitlines()[-1], file=sys.stderr)
        if options.out:
            with open(options.out, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
    print(table(results))


if __name__ == "__main__":
    main()
