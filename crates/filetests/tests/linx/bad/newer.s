# Instructions of v0.57 and later are named as such.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::unknown-mnemonic]: LinxISA has no instruction `L.BSTART.STD`
#|   --> newer.s:39:9
#|    |
#| 39 | _start: L.BSTART.STD
#|    |         ^^^^^^^^^^^^
#|    |
#|    = note: this is of another version of LinxISA; the target is v0.4
#|    = help: there is `c.bstart.std`
#|
#| error[asm::unknown-mnemonic]: LinxISA has no instruction `B.CATR`
#|   --> newer.s:40:9
#|    |
#| 40 |         B.CATR  aq
#|    |         ^^^^^^
#|    |
#|    = note: this is of another version of LinxISA; the target is v0.4
#|    = help: there is `b.attr`
#|
#| error[asm::unknown-mnemonic]: LinxISA has no instruction `B.DATR`
#|   --> newer.s:41:9
#|    |
#| 41 |         B.DATR  1
#|    |         ^^^^^^
#|    |
#|    = note: this is of another version of LinxISA; the target is v0.4
#|    = help: there is `b.attr`
#|
#| error[asm::syntax]: expected `DIRECT`, `CALL`, `COND` or `FALL`
#|   --> newer.s:42:15
#|    |
#| 42 |         BSTART.TLSU
#|    |               ^^^^^ not understood
#|    |
#|    = note: this is of another version of LinxISA; the target is v0.4
_start: L.BSTART.STD
        B.CATR  aq
        B.DATR  1
        BSTART.TLSU
        BSTART.STD
        ebreak  0
