"""The demo's result as a table and as a picture, without any library."""

import html
import shutil
import subprocess

PLAIN, AHEAD, INK, FAINT = "#9aa5b1", "#1f77b4", "#1f2933", "#e4e7eb"
WIDTH, LEFT, RIGHT, TOP, ROW = 900, 210, 190, 92, 66


def table(results):
    """Lines of text, one job per line."""
    lines = [f"{'job':<22} {'plain s':>8} {'ahead s':>8} {'speed-up':>9} "
             f"{'plain dev MB':>13} {'ahead dev MB':>13}  results"]
    lines.append("-" * len(lines[0]))
    for result in results:
        lines.append(
            f"{result['job']:<22} {result['plain_s']:>8.2f} {result['ahead_s']:>8.2f} "
            f"{result['plain_s'] / result['ahead_s']:>8.2f}x "
            f"{result['plain_mb']:>13.0f} {result['ahead_mb']:>13.0f}  "
            f"{'the same' if result['same'] else 'DIFFERENT'}")
    return "\n".join(lines)


def svg(results, subtitle):
    """Two bars per job: seconds without and with `ahead run`."""
    longest = max(max(r["plain_s"], r["ahead_s"]) for r in results)
    scale = (WIDTH - LEFT - RIGHT) / longest
    height = TOP + ROW * len(results) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(24, 34, "Five jobs, with and without `ahead run`", 20, weight="bold"),
        text(24, 56, subtitle, 12.5),
        f'<rect x="{LEFT}" y="68" width="12" height="12" fill="{PLAIN}"/>',
        text(LEFT + 18, 78, "plain", 12.5),
        f'<rect x="{LEFT + 70}" y="68" width="12" height="12" fill="{AHEAD}"/>',
        text(LEFT + 88, 78, "ahead run", 12.5),
        text(LEFT + 170, 78, "seconds, shorter is better", 12.5),
    ]
    for number, result in enumerate(results):
        top = TOP + number * ROW
        parts.append(f'<line x1="24" x2="{WIDTH - 24}" y1="{top}" y2="{top}" stroke="{FAINT}"/>')
        parts.append(text(24, top + 38, result["job"], 14))
        for offset, key, colour in ((12, "plain_s", PLAIN), (36, "ahead_s", AHEAD)):
            seconds = result[key]
            length = max(1.0, seconds * scale)
            parts.append(f'<rect x="{LEFT}" y="{top + offset}" width="{length:.1f}" height="20" '
                         f'fill="{colour}"/>')
            parts.append(text(LEFT + length + 6, top + offset + 15, f"{seconds:.2f} s", 12.5))
        ratio = result["plain_s"] / result["ahead_s"]
        parts.append(text(WIDTH - 28, top + 40, f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.1f}×", 20, weight="bold", anchor="end"))
    parts.append("</svg>\n")
    return "\n".join(parts)


def text(x, y, words, size, weight="normal", anchor="start"):
    """One line of text."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}" fill="{INK}">{html.escape(words)}</text>')


def write(path, results, subtitle):
    """Writes PATH.svg, and PATH.png where a converter is installed. Returns the names."""
    names = [f"{path}.svg"]
    with open(names[0], "w", encoding="utf-8") as file:
        file.write(svg(results, subtitle))
    if shutil.which("rsvg-convert"):
        png = f"{path}.png"
        if subprocess.run(["rsvg-convert", "-z", "2", "-o", png, names[0]]).returncode == 0:
            names.append(png)
    return names
