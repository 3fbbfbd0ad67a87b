# In the numbering of v0.3: names that have no encoding there, the legacy number, numbers of v0.4.
#: machine: linx
#: run: --option tile-ops=v0.3
#: fails 2:
#| error[linx::tile-op]: TEXP has no encoding in the v0.3 numbering: 0x040 is TADDS
#|   --> tile-operations-v0.3.s:52:21
#|    |
#| 52 | _start: BSTART.TEPL TEXP, FP32
#|    |                     ^^^^
#|
#| error[linx::tile-op]: TLOG has no encoding in the v0.3 numbering: 0x041 is TSUBS
#|   --> tile-operations-v0.3.s:53:21
#|    |
#| 53 |         BSTART.TEPL TLOG, FP32
#|    |                     ^^^^
#|
#| error[linx::tile-op]: TSQRT has no encoding in the v0.3 numbering: 0x042 is TMULS
#|   --> tile-operations-v0.3.s:54:21
#|    |
#| 54 |         BSTART.TEPL TSQRT, FP32
#|    |                     ^^^^^
#|
#| error[linx::tile-op]: TRSQRT has no encoding in the v0.3 numbering: 0x043 is TDIVS
#|   --> tile-operations-v0.3.s:55:21
#|    |
#| 55 |         BSTART.TEPL TRSQRT, FP32
#|    |                     ^^^^^^
#|
#| error[linx::tile-op]: TRECIP has no encoding in the v0.3 numbering: 0x044 is TMAXS
#|   --> tile-operations-v0.3.s:56:21
#|    |
#| 56 |         BSTART.TEPL TRECIP, FP32
#|    |                     ^^^^^^
#|
#| error[linx::tile-op]: TEXPANDS has no encoding in the v0.3 numbering: 0x045 is TMINS
#|   --> tile-operations-v0.3.s:57:21
#|    |
#| 57 |         BSTART.TEPL TEXPANDS, FP32
#|    |                     ^^^^^^^^
#|
#| error[linx::tile-op]: 0x027 is legacy, not canonical
#|   --> tile-operations-v0.3.s:58:21
#|    |
#| 58 |         BSTART.TEPL 0x027, FP32
#|    |                     ^^^^^
#|
#| error[linx::tile-op]: 0x01e is not a tile operation of v0.3
#|   --> tile-operations-v0.3.s:59:21
#|    |
#| 59 |         BSTART.TEPL 0x01e, FP32
#|    |                     ^^^^^
_start: BSTART.TEPL TEXP, FP32
        BSTART.TEPL TLOG, FP32
        BSTART.TEPL TSQRT, FP32
        BSTART.TEPL TRSQRT, FP32
        BSTART.TEPL TRECIP, FP32
        BSTART.TEPL TEXPANDS, FP32
        BSTART.TEPL 0x027, FP32
        BSTART.TEPL 0x01e, FP32
        BSTART.TEPL TCOLEXPAND, FP32
        BSTART.TEPL TADDS, FP32
        C.BSTART.STD
        ebreak  0
