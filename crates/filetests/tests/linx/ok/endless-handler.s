# A handler that returns to the access that has trapped, and mends nothing.
#: machine: linx
#: run: --limit 10000
#: hang: limit
_start: C.BSTART.STD
        hl.liu  handler, ->a1
        hl.ssrset a1, EVBASE_ACR1
        lwi     [zero, 64], ->t
        ebreak  0
handler: C.BSTART.SYS FALL
        acre    0
