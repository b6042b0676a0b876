#!/usr/bin/env python3
"""Turns text files into one C file of char arrays, so that the program carries its templates.

usage: embed.py OUT.c FILE...

Every FILE becomes gt_embedded_NAME_EXT. Pairs NAME.cu and NAME.sql are also listed in gt_embedded_families, NAME.cuh
in gt_embedded_headers.
"""
import pathlib
import sys


def symbol(path):
    return "gt_embedded_" + path.name.replace(".", "_").replace("-", "_")


def main(out, files):
    paths = [pathlib.Path(f) for f in files]
    names = {p.stem for p in paths if p.suffix == ".cu"} & {p.stem for p in paths if p.suffix == ".sql"}
    lines = ['#include "embedded.h"', ""] if names else []
    for path in paths:
        data = path.read_bytes() + b"\0"
        lines.append(f"const char {symbol(path)}[] = {{")
        for at in range(0, len(data), 24):
            lines.append("    " + ", ".join(str(b if b < 128 else b - 256) for b in data[at:at + 24]) + ",")
        lines.append("};")
    if names:
        lines += ["", "const struct gt_embedded_family gt_embedded_families[] = {"]
        lines += [f'    {{"{n}", gt_embedded_{n}_cu, gt_embedded_{n}_sql}},' for n in sorted(names)]
        lines += ["    {0, 0, 0},", "};", "", "const struct gt_embedded_header gt_embedded_headers[] = {"]
        lines += [f'    {{"{p.name}", {symbol(p)}}},' for p in paths if p.suffix == ".cuh"]
        lines += ["    {0, 0},", "};", ""]
    pathlib.Path(out).write_text("\n".join(lines))


main(sys.argv[1], sys.argv[2:])
