# Names and numbers that are no tile operation of v0.4.
#: machine: linx
#: check:
#: fails 2:
#| error[linx::tile-op]: 0x02b is not a tile operation: reserved
#|   --> tile-operations.s:40:21
#|    |
#| 40 | _start: BSTART.TEPL 0x2b, FP32
#|    |                     ^^^^
#|
#| error[linx::tile-op]: 0x040 is not a tile operation of v0.4: TEXP of v0.3
#|   --> tile-operations.s:41:21
#|    |
#| 41 |         BSTART.TEPL 0x040, FP32
#|    |                     ^^^^^
#|
#| error[linx::tile-op]: 0x400 is not a tile operation: reserved
#|   --> tile-operations.s:42:21
#|    |
#| 42 |         BSTART.TEPL 0x400, FP32
#|    |                     ^^^^^
#|
#| error[linx::tile-op]: `TADDX` is not a tile operation
#|   --> tile-operations.s:43:21
#|    |
#| 43 |         BSTART.TEPL TADDX, FP32
#|    |                     ^^^^^
#|
#| error[asm::syntax]: expected a data type such as FP32
#|   --> tile-operations.s:44:27
#|    |
#| 44 |         BSTART.TEPL TADD, FP33
#|    |                           ^^^^ not understood
#|
#| error[asm::syntax]: expected a data type such as FP32
#|   --> tile-operations.s:45:21
#|    |
#| 45 |         BSTART.TLOAD
#|    |                     ^ the statement ends here
_start: BSTART.TEPL 0x2b, FP32
        BSTART.TEPL 0x040, FP32
        BSTART.TEPL 0x400, FP32
        BSTART.TEPL TADDX, FP32
        BSTART.TEPL TADD, FP33
        BSTART.TLOAD
        C.BSTART.STD
        ebreak  0
