# A RISC-V hart with predicated lanes.
#: run:
_start:
    li   a0, 3
    la   a1, word
loop:
    addi a0, a0, -1
    sd   a0, 0(a1)
    bnez a0, loop
    li   a7, 93
    ecall
.data
word:
    .dword 9
#: debug:
#| kernel `program` under masks, grid 1, block 1
#| (simtlab) break loop
#| breakpoint 1: line 7
#| (simtlab) continue
#| issue 3: breakpoint 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  addi a0, a0, -1
#| (simtlab) info registers a0 a1 pc
#| pc         2147483660 (0x8000000c)  (of the warp)
#| a0         3  (of the warp)
#| a1         2149580800 (0x80200000)  (of the warp)
#| (simtlab) step 2
#| issue 5
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  bnez a0, loop
#| (simtlab) watch a0
#| watch 2: a0 of the warp
#| (simtlab) continue
#| issue 6: breakpoint 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  addi a0, a0, -1
#| (simtlab) continue
#| issue 7: 2: a0 of the warp: 0x2 -> 0x1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  sd a0, 0(a1)
#| (simtlab) who a0
#| a0: written at issue 6 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 7: addi a0, a0, -1
#| (simtlab) who [word]:u64 depth 2
#| global[0x80200000]: written at issue 4 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 8: sd a0, 0(a1)
#|   a0: written at issue 3 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 7: addi a0, a0, -1
#|     a0: written at issue 0 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 4: li a0, 3
#|   a1: written at issue 2 by block (0,0,0), warp 0, lane 0, thread (0,0,0), 0x80000008:
#|     a1: written at issue 1 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 5: la a1, word
#| (simtlab) rwatch a1
#| watch 3: a1 of the warp
#| (simtlab) continue
#| issue 8: 3: a1 of the warp read: 0x80200000
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  bnez a0, loop
#| (simtlab) reverse-continue
#| issue 7: 3: a1 of the warp read: 0x80200000
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  sd a0, 0(a1)
#| (simtlab) delete 3
#| (simtlab) info locals
#| the program has no debug information; registers of the line:
#| a0         1
#| a1         2149580800 (0x80200000)
#| (simtlab) reverse-continue
#| issue 6: 2: a0 of the warp: 0x2 -> 0x1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  addi a0, a0, -1
#| (simtlab) rewind 0
#| issue 0
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    4  li a0, 3
#| (simtlab) delete
#| (simtlab) watch [word]:u64
#| watch 4: 8 bytes at global[0x80200000]
#| (simtlab) continue
#| issue 5: 4: [word]:u64 written by lanes {0}: 9 -> 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  bnez a0, loop
#| (simtlab) reverse-continue
#| issue 4: 4: [word]:u64 written by lanes {0}: 9 -> 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  sd a0, 0(a1)
#| (simtlab) print [word]:u64
#| [word]:u64 = 9
#| (simtlab) set a0 = 1
#| branch 1 begins at issue 4
#| (simtlab) continue
#| issue 5: 4: [word]:u64 written by lanes {0}: 9 -> 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  bnez a0, loop
#| (simtlab) delete
#| (simtlab) rwatch a0
#| watch 5: a0 of the warp
#| (simtlab) retry
#| error: launches of this machine run under `masks` alone
#| (simtlab) rejoin
#| issue 6: 5: a0 of the warp read: 0x1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  addi a0, a0, -1
#| (simtlab) quit
