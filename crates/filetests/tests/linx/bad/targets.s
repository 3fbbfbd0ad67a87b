# Labels that there are not, twice, at odd places or too far.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::undefined-symbol]: `nowhere` is not defined
#|   --> targets.s:53:28
#|    |
#| 53 |         C.BSTART.STD COND, nowhere
#|    |                            ^^^^^^^ used here
#|
#| error[asm::out-of-range]: 1 does not fit `simm12`, which holds multiples of 2
#|   --> targets.s:54:30
#|    |
#| 54 | twice:  C.BSTART.STD DIRECT, twice+1
#|    |                              ^^^^^^^ this is too far, or between instructions
#|    |
#|    = note: 0x10005 is 1 bytes from here, 0x10004
#|    = note: syntax: C.BSTART.STD DIRECT, {simm12:target}
#|
#| error[asm::duplicate-symbol]: `twice` is defined twice
#|   --> targets.s:55:1
#|    |
#| 54 | twice:  C.BSTART.STD DIRECT, twice+1
#|    | ----- first defined here
#| 55 | twice:  C.BSTART.STD DIRECT, far
#|    | ^^^^^ defined again here
#|    |
#|    = help: rename one of them; labels that only jumps near them use can be local, `1:` and `1b`
#|
#| error[asm::out-of-range]: 16797222 does not fit `simm22`, which holds -4194304 to 4194302
#|   --> targets.s:57:17
#|    |
#| 57 | body:   b.nz    far+0x1000000
#|    |                 ^^^^^^^^^^^^^ this is too far, or between instructions
#|    |
#|    = note: 0x1014e2e is 16797222 bytes from here, 0x10008
#|    = note: syntax: b.nz {simm22:btarget}
#|
#| error[asm::division-by-zero]: division by zero
#|   --> targets.s:58:17
#|    |
#| 58 |         j       1/0
#|    |                 ^^^
#|
#| error[asm::out-of-range]: 5000 does not fit `simm12`, which holds -4096 to 4094
#|   --> targets.s:59:22
#|    |
#| 59 |         jr      u#1, 5000
#|    |                      ^^^^
#|    |
#|    = note: syntax: jr {SrcL:r}, {simm12}
_start: C.BSTART.STD
        C.BSTART.STD COND, nowhere
twice:  C.BSTART.STD DIRECT, twice+1
twice:  C.BSTART.STD DIRECT, far
        ebreak  0
body:   b.nz    far+0x1000000
        j       1/0
        jr      u#1, 5000
        C.BSTOP
        .space  20000
far:    C.BSTART.STD
        ebreak  0
