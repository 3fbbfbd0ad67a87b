# A loop that stores is not taken for one whose state comes again: each store may change memory.
#: run: --limit 600000
#: hang: limit
    la   t0, word
again:
    sw   t1, (t0)
    j    again
.data
word:
    .word 0
