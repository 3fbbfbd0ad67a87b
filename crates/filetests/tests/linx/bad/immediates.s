# Numbers that do not fit, or are not multiples of what they are scaled by.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::out-of-range]: 4096 does not fit `uimm12`, which holds 0 to 4095
#|    --> immediates.s:121:21
#|     |
#| 121 |         addi    a0, 4096, ->a0
#|     |                     ^^^^
#|     |
#|     = note: syntax: addi {SrcL:r}, {uimm12}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 3 does not fit `simm12`, which holds multiples of 4
#|    --> immediates.s:122:22
#|     |
#| 122 |         lwi     [a0, 3], ->a0
#|     |                      ^
#|     |
#|     = note: syntax: lwi [{SrcL:r}, {simm12}], ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 99 does not fit `simm5`, which holds -16 to 15
#|    --> immediates.s:123:17
#|     |
#| 123 |         c.movi  99, ->a0
#|     |                 ^^
#|     |
#|     = note: syntax: c.movi {simm5}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 64 does not fit `shamt`, which holds 0 to 63
#|    --> immediates.s:124:21
#|     |
#| 124 |         slli    a0, 64, ->a0
#|     |                     ^^
#|     |
#|     = note: syntax: slli {SrcL:r}, {shamt}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 8589934591 does not fit `uimm32`, which holds 0 to 4294967295
#|    --> immediates.s:125:17
#|     |
#| 125 |         hl.liu  0x1ffffffff, ->a0
#|     |                 ^^^^^^^^^^^
#|     |
#|     = note: syntax: hl.liu {uimm32}, ->{RegDst:rd}
#|
#| error[asm::out-of-range]: 1193047 does not fit `simm12`, which holds -2048 to 2047
#|    --> immediates.s:126:22
#|     |
#| 126 |         setc.eqi a0, 0x123457
#|     |                      ^^^^^^^^
#|     |
#|     = note: syntax: setc.eqi {SrcL:r}, {simm12,shamt:setcimm}
#|
#| error[asm::out-of-range]: 16 does not fit `imm4`, which holds 0 to 15
#|    --> immediates.s:127:17
#|     |
#| 127 |         ebreak  16
#|     |                 ^^
#|     |
#|     = note: syntax: ebreak {imm4}
#|
#| error[asm::out-of-range]: 4 does not fit `Mode`, which holds 0 to 3
#|    --> immediates.s:128:21
#|     |
#| 128 |         BSTART.MSEQ 4
#|     |                     ^
#|     |
#|     = note: syntax: BSTART.MSEQ {Mode}
#|
#| error[asm::out-of-range]: 256 does not fit `imm8`, which holds 0 to 255
#|    --> immediates.s:129:18
#|     |
#| 129 |         C.B.DIMI 256, ->lb0
#|     |                  ^^^
#|     |
#|     = note: syntax: C.B.DIMI {imm8}, ->{LoopNest:lb}
#|
#| error[asm::out-of-range]: 131072 does not fit `uimm17`, which holds 0 to 131071
#|    --> immediates.s:130:23
#|     |
#| 130 |         B.DIM   zero, 131072, ->lb0
#|     |                       ^^^^^^
#|     |
#|     = note: syntax: B.DIM {RegSrc:r}, {uimm17}, ->lb0
#|
#| error[asm::syntax]: expected lb0, lb1, lb2
#|    --> immediates.s:131:23
#|     |
#| 131 |         C.B.DIM a0, ->lb3
#|     |                       ^^^ not understood
#|
#| error[asm::syntax]: expected `]`
#|    --> immediates.s:132:26
#|     |
#| 132 |         B.IOR   [a0,a1,a2,a3],[]
#|     |                          ^ not understood
#|
#| error[asm::syntax]: expected a register such as a0, t#1 or zero
#|    --> immediates.s:133:18
#|     |
#| 133 |         B.IOR   [vt#1],[]
#|     |                  ^^ not understood
#|
#| error[asm::syntax]: expected a tile: t#1 to t#8, u#1.., m#1.. or n#1..
#|    --> immediates.s:134:18
#|     |
#| 134 |         B.IOTI  [t#9], last
#|     |                  ^ not understood
#|
#| error[asm::syntax]: expected a size: 512B, 1KB, 2KB or 4KB
#|    --> immediates.s:135:30
#|     |
#| 135 |         B.IOTI  [], last ->t<3KB>
#|     |                              ^^^ not understood
#|
#| error[asm::syntax]: expected t, u, m, n or acc
#|    --> immediates.s:136:28
#|     |
#| 136 |         B.IOTI  [], last ->to<4KB>
#|     |                            ^^ not understood
_start: C.BSTART.STD
        addi    a0, 4096, ->a0
        lwi     [a0, 3], ->a0
        c.movi  99, ->a0
        slli    a0, 64, ->a0
        hl.liu  0x1ffffffff, ->a0
        setc.eqi a0, 0x123457
        ebreak  16
        BSTART.MSEQ 4
        C.B.DIMI 256, ->lb0
        B.DIM   zero, 131072, ->lb0
        C.B.DIM a0, ->lb3
        B.IOR   [a0,a1,a2,a3],[]
        B.IOR   [vt#1],[]
        B.IOTI  [t#9], last
        B.IOTI  [], last ->t<3KB>
        B.IOTI  [], last ->to<4KB>
        C.BSTART.STD
        ebreak  0
