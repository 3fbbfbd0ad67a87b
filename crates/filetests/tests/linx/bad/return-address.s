# Where these would write `ra`, their encodings are those of `setret` and its kin.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::out-of-range]: 10 is reserved in `RegDst`, which holds 0..9|11..31
#|   --> return-address.s:29:22
#|    |
#| 29 |         c.movi  3, ->ra
#|    |                      ^^
#|    |
#|    = note: syntax: c.movi {simm5}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 10 is reserved in `RegDst`, which holds 0..9|11..31
#|   --> return-address.s:30:27
#|    |
#| 30 |         addtpc  _start, ->ra
#|    |                           ^^
#|    |
#|    = note: syntax: addtpc {imm20:pcount}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 10 is reserved in `RegDst`, which holds 0..9|11..31
#|   --> return-address.s:31:29
#|    |
#| 31 |         hl.addtpc _start, ->ra
#|    |                             ^^
#|    |
#|    = note: syntax: hl.addtpc {imm32:pcount}, ->{RegDst:rd}
_start: C.BSTART.STD
        c.movi  3, ->ra
        addtpc  _start, ->ra
        hl.addtpc _start, ->ra
        ebreak  0
