# Operands of kernel instructions that there are not, or not here.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::syntax]: expected a type such as .sw or .ud
#|   --> operands.s:88:21
#|    |
#| 88 | body:   v.add   vt#1.qq, vu#1.sw, ->vt.w
#|    |                     ^^^ not understood
#|
#| error[asm::syntax]: expected a kernel register such as vt#1, ri0, lc0, t#1 or p
#|   --> operands.s:89:17
#|    |
#| 89 |         v.add   vt#5.sw, vu#1.sw, ->vt.w
#|    |                 ^^ not understood
#|
#| error[asm::syntax]: expected a kernel register such as vt#1, ri0, lc0, t#1 or p
#|   --> operands.s:90:17
#|    |
#| 90 |         v.add   a0.sw, vu#1.sw, ->vt.w
#|    |                 ^^^^^ not understood
#|
#| error[asm::syntax]: expected a destination such as vt.w, t.d, ro0.d or p
#|   --> operands.s:91:37
#|    |
#| 91 |         v.add   vt#1.sw, vu#1.sw, ->ri0.w
#|    |                                     ^^^^^ not understood
#|
#| error[asm::syntax]: expected a kernel register such as vt#1, ri0, lc0, t#1 or p
#|   --> operands.s:92:26
#|    |
#| 92 |         v.add   vt#1.sw, te.sw, ->vt.w
#|    |                          ^^^^^ not understood
#|
#| error[asm::syntax]: expected a type: .fd .fs or .fh
#|   --> operands.s:93:21
#|    |
#| 93 |         v.fadd  vt#1.sw, vu#1.fs, ->vt.w
#|    |                     ^^^ not understood
#|
#| error[asm::syntax]: expected a type: .fd .fs or .fh
#|   --> operands.s:94:21
#|    |
#| 94 |         v.fadd  vt#1.fb, vu#1.fs, ->vt.w
#|    |                     ^^^ not understood
#|
#| error[asm::syntax]: expected `,`
#|   --> operands.s:95:33
#|    |
#| 95 |         v.sll   vt#1.sw, vu#1.sw<<2, ->vt.w
#|    |                                 ^ not understood
#|
#| error[linx::lane-term]: the lane term of this access is lc0<<2, not lc0<<3
#|   --> operands.s:97:24
#|    |
#| 97 |         v.lw.brg [ri0, lc0<<3, zero.ud], ->vt.w
#|    |                        ^^^^^^
#|
#| error[linx::index-shift]: the index of this store is shifted by 2 at least
#|   --> operands.s:98:48
#|    |
#| 98 |         v.sw.brg vt#1.sw, [ri0, lc0<<2, zero.ud<<1]
#|    |                                                ^^^
#|
#| error[asm::out-of-range]: 2 does not fit `simm24`, which holds multiples of 4
#|   --> operands.s:99:33
#|    |
#| 99 |         v.lwi.brg [ri0, lc0<<2, 2], ->vt.w
#|    |                                 ^
#|    |
#|    = note: syntax: v.lwi.brg{L:local} {SrcL,C,simm24:memi}, ->{RegDst:dst}
#|
#| error[asm::unknown-mnemonic]: LinxISA has no instruction `v.nothing`
#|    --> operands.s:100:9
#|     |
#| 100 |         v.nothing vt#1.sw, ->vt.w
#|     |         ^^^^^^^^^
#|
#| error[asm::unknown-mnemonic]: LinxISA has no instruction `v.ad`
#|    --> operands.s:101:9
#|     |
#| 101 |         v.ad    vt#1.sw, vu#1.sw, ->vt.w
#|     |         ^^^^
#|     |
#|     = help: there is `v.add`
_start: C.BSTART.STD
        ebreak  0
body:   v.add   vt#1.qq, vu#1.sw, ->vt.w
        v.add   vt#5.sw, vu#1.sw, ->vt.w
        v.add   a0.sw, vu#1.sw, ->vt.w
        v.add   vt#1.sw, vu#1.sw, ->ri0.w
        v.add   vt#1.sw, te.sw, ->vt.w
        v.fadd  vt#1.sw, vu#1.fs, ->vt.w
        v.fadd  vt#1.fb, vu#1.fs, ->vt.w
        v.sll   vt#1.sw, vu#1.sw<<2, ->vt.w
        v.slli  vt#1.sw, 32, ->vt.w
        v.lw.brg [ri0, lc0<<3, zero.ud], ->vt.w
        v.sw.brg vt#1.sw, [ri0, lc0<<2, zero.ud<<1]
        v.lwi.brg [ri0, lc0<<2, 2], ->vt.w
        v.nothing vt#1.sw, ->vt.w
        v.ad    vt#1.sw, vu#1.sw, ->vt.w
        C.BSTOP
