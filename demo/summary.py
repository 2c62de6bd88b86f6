#!/usr/bin/env python3
"""What moved through the LRU list during the load of `make run`.

    summary.py FILE          five lines, with a picture of each second
    summary.py FILE --all    every counter, before and after

FILE has samples of INNODB_LRU_STATS as the client's --batch prints them: one line a buffer pool
instance and sample, with SECONDS before the columns of the table.
"""

import argparse
import csv
import itertools
import os
import re
import sys

BLOCKS = "▁▂▃▄▅▆▇█"
LETTERS = "_.:-=+*#"  # where the locale names another character set
WIDTH = 30  # of a picture
GAUGES = re.compile(r"DATABASE_PAGES$|^FREE_BUFFERS$|_MAX$")


class Samples:
    """Of all instances together: a figure has one value for each sample."""

    def __init__(self, lines):
        self.instances = {}  # of each, the rows of all samples
        self.columns = []
        for row in csv.DictReader(lines, delimiter="\t"):
            self.columns = [name for name in row if name != "SECONDS"]
            self.instances.setdefault(row["POOL_ID"], []).append(row)
        rows = next(iter(self.instances.values()), [])
        if len(rows) < 2:
            raise ValueError("there are fewer than two samples")
        self.times = [float(row["SECONDS"]) for row in rows]
        self.seconds = self.times[-1] - self.times[0]

    def values(self, *names):
        """Sums of these figures, sample by sample."""
        instances = self.instances.values()
        return [
            sum(int(row[name]) for row in at for name in names)
            for at in zip(*instances, strict=False)
        ]

    def growth(self, *names):
        values = self.values(*names)
        return values[-1] - values[0]

    def rates(self, *names):
        """Growth a second from each sample to the next."""
        values = self.values(*names)
        pairs = itertools.pairwise(zip(self.times, values, strict=True))
        return [(b - a) / max(u - t, 1e-6) for (t, a), (u, b) in pairs]


def number(value):
    return f"{value:,.0f}".replace(",", " ")


def marks():
    # Not LC_CTYPE: Python sets that itself where the locale is not installed.
    locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    other = "." in locale and not re.search(r"\.utf-?8", locale, re.IGNORECASE)
    return LETTERS if other else BLOCKS


def sparkline(rates, symbols):
    """Of at most WIDTH characters, the highest rate as the highest."""
    if len(rates) > WIDTH:
        ends = [round(len(rates) * n / WIDTH) for n in range(WIDTH + 1)]
        rates = [sum(rates[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]
    top = max(rates)
    steps = len(symbols) - 1
    return "".join(symbols[round(steps * max(rate, 0) / top) if top > 0 else 0] for rate in rates)


def bar(share, symbols):
    filled = round(WIDTH * share)
    return symbols[-1] * filled + symbols[0] * (WIDTH - filled)


def percent(part, whole):
    return f"{100 * part / whole:.0f} %"


def five_lines(samples):
    symbols = marks()
    lines = []

    def counted(name, note, *figures):
        rate = number(samples.growth(*figures) / samples.seconds)
        picture = sparkline(samples.rates(*figures), symbols)
        lines.append((name, number(samples.growth(*figures)), f"{rate}/s", picture, note))

    out = ("PAGES_EVICTED_OLD", "PAGES_EVICTED_YOUNG")
    evicted, once = samples.growth(*out), samples.growth("PAGES_EVICTED_OLD_ACCESSED_ONCE")
    note = f"{percent(once, evicted)} of them had been used once" if evicted else "all data fit"
    counted("pages evicted", note, *out)
    counted("made young", "moved to the head, as they are used again", "PAGES_MADE_YOUNG")
    alone = samples.growth("PAGES_FLUSHED_LRU_USER_THREADS")
    note = f"before anybody needed the page; clients wrote {number(alone)} themselves"
    counted("written ahead", note, "PAGES_FLUSHED_LRU_PAGE_CLEANER")
    waits, usec = samples.growth("FREE_LIST_WAITS"), samples.growth("FREE_LIST_WAIT_TIME")
    note = f"{usec / waits / 1000:.1f} ms each" if waits else "a free page was always ready"
    counted("waits for a page", note, "FREE_LIST_WAITS")

    length, old = samples.values("DATABASE_PAGES")[-1], samples.values("OLD_DATABASE_PAGES")[-1]
    free = samples.values("FREE_BUFFERS")[-1]
    young = (length - old) / length if length else 0
    note = f"{percent(young, 1)} young, the rest old; {number(free)} pages free"
    lines.append(("the list now", number(length), "pages", bar(young, symbols), note))
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    for name, total, rate, picture, note in lines:
        yield (
            f"  {name:{widths[0]}}  {total:>{widths[1]}}  {rate:>{widths[2]}}"
            f"  {picture:{widths[3]}}  {note}"
        )


def table(samples):
    for pool, rows in samples.instances.items():
        before, after = rows[0], rows[-1]
        line = "{:<40} {:>14} {:>14} {:>14} {:>12}".format
        yield line(f"pool instance {pool}", "before", "after", "growth", "a second")
        for name in samples.columns:
            if name == "POOL_ID" or not after[name].isdigit():
                continue
            growth, rate = "", ""
            if not GAUGES.search(name):
                growth = int(after[name]) - int(before[name])
                rate = f"{growth / samples.seconds:.1f}"
            yield line(name, before[name], after[name], growth, rate).rstrip()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--all", action="store_true", help="every counter")
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        with open(options.file, encoding="utf-8") as lines:
            samples = Samples(lines)
    except FileNotFoundError:
        sys.exit(f"run: error: {options.file} is not there; 'make run' measures")
    except (KeyError, TypeError, ValueError) as error:
        sys.exit(f"run: error: {options.file} holds no samples that can be read ({error})")
    print("\n".join(table(samples) if options.all else five_lines(samples)))


if __name__ == "__main__":
    main()
