# Every form of steps, forwards and backwards, on a hart; its lanes are those of RSV, and it has no barriers.
#: run:
_start:
    li   a0, 2
loop:
    jal  ra, less
    bnez a0, loop
    li   a7, 93
    ecall
less:
    addi a0, a0, -1
    ret
#: debug:
#| kernel `program` under masks, grid 1, block 1
#| (simtlab) stepi
#| issue 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  jal ra, less
#| (simtlab) stepi 3
#| issue 4
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  bnez a0, loop
#| (simtlab) reverse-stepi 2
#| issue 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   11  addi a0, a0, -1
#| (simtlab) step
#| issue 3
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   12  ret
#| (simtlab) step 3
#| issue 6
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   11  addi a0, a0, -1
#| (simtlab) reverse-step
#| issue 5
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  jal ra, less
#| (simtlab) next 2
#| issue 9
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  li a7, 93
#| (simtlab) reverse-next
#| issue 8
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  bnez a0, loop
#| (simtlab) rejoin
#| issue 11: the launch has ended
#| (simtlab) reverse-rejoin
#| issue 0: the start of the launch
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    4  li a0, 2
#| (simtlab) barrier
#| error: this machine has no barriers
#| (simtlab) reverse-barrier
#| error: this machine has no barriers
#| (simtlab) finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) reverse-finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) rewind 7
#| issue 7
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   12  ret
#| (simtlab) rewind 2
#| issue 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   11  addi a0, a0, -1
#| (simtlab) continue
#| issue 11: the launch has ended
#| (simtlab) reverse-stepi
#| issue 10
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  ecall
#| (simtlab) continue
#| issue 11: the launch has ended
#| (simtlab) reverse-continue
#| issue 0: the start of the launch
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    4  li a0, 2
#| (simtlab) quit
