"""Tables of the figures."""

import math
import statistics


def print_table(header, rows):
    rows = [header, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
    print()


def summary(nanoseconds):
    """Mean, median and 99th percentile in microseconds."""
    ordered = sorted(nanoseconds)
    return {
        "mean_us": statistics.mean(ordered) / 1e3,
        "median_us": statistics.median(ordered) / 1e3,
        "p99_us": ordered[math.ceil(0.99 * len(ordered)) - 1] / 1e3,
    }


def figures_of(run, term_counts):
    """Times of one run, all and for each number of terms."""
    figures = summary(run["ns"])
    parts = {}
    for count, nanoseconds in zip(term_counts, run["ns"]):
        parts.setdefault(count, []).append(nanoseconds)
    figures["by_terms"] = {count: summary(part) for count, part in sorted(parts.items())}
    if run.get("all_threads_wall_ns"):
        figures["queries_s"] = len(term_counts) / run["all_threads_wall_ns"] * 1e9
    return figures


def print_builds(builds):
    rows = []
    for name, build in builds.items():
        postings = build.get("postings_bytes")
        rows.append([name, f"{build['seconds']:.1f}", f"{build['bytes'] / 1e6:.1f}",
                     f"{postings / 1e6:.1f}" if postings else "-"])
    print_table(["index", "seconds", "MB", "postings MB"], rows)


def times(run, reference):
    """The cells of one contestant's times, and its mean as a multiple of the reference's."""
    if "mean_us" not in run:
        return ["-"] * 4
    ratio = f"{run['mean_us'] / reference['mean_us']:.2f}" if "mean_us" in reference else "-"
    return [f"{run['mean_us']:.1f}", f"{run['median_us']:.1f}", f"{run['p99_us']:.1f}", ratio]


def print_class(title, runs, reference):
    """One table for a task and a kind; the last column says what came of the answers."""
    base = runs.get(reference, {})
    rows = []
    for name, run in runs.items():
        rate = f"{run['queries_s']:,.0f}" if "queries_s" in run else "-"
        overlap = f"{run['overlap']:.1%}" if "overlap" in run else "-"
        rows.append([name, *times(run, base), rate, overlap, run["verdict"]])
    print_table([title, "mean", "median", "p99", "ratio", "queries/s", "overlap", "answers"], rows)


def print_term_counts(title, runs, reference):
    """The same times for every number of terms."""
    base = runs.get(reference, {}).get("by_terms", {})
    rows = []
    for name, run in runs.items():
        for count, part in run.get("by_terms", {}).items():
            rows.append([f"{name}, {count} terms", *times(part, base.get(count, {}))])
    print_table([title, "mean", "median", "p99", "ratio"], rows)
