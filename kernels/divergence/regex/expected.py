"""The longest prefix that matches (a|b)*abb(c|d)+, by Python's re, over words that come close to it."""

import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT = 500
bits = random_bits(7, COUNT * 40).reshape(COUNT, 40)
words = []
for row in bits:
    length = int(row[0] % np.uint64(24))
    word = "".join("ab"[int(b) & 1] for b in row[1 : 1 + length])
    kind = int(row[30] % np.uint64(4))
    word += ["", "abb", "abbc", "abbd"][kind]
    word += "".join("cd"[int(b) & 1] for b in row[31 : 31 + int(row[38] % np.uint64(7))])
    if row[39] & np.uint64(7) == 0:
        word += "x" + word
    words.append(word)
words[:6] = ["", "abb", "abbc", "abbcd" * 2, "babbdc", "abbabbcc"]
pattern = re.compile(r"(a|b)*abb(c|d)+")
ends = [(m := pattern.match(w)) and m.end() or 0 for w in words]
starts = np.cumsum([0] + [len(w) for w in words]).astype(np.uint32)
text = np.frombuffer("".join(words).encode(), np.uint8)
save(__file__, words=text, starts=starts, expected_ends=np.array(ends, np.uint32))
