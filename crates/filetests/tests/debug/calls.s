# Calls of a hart: steps into, over and out of functions, frames, a tail call, recursion, backwards.
#: run:
_start:
    li   sp, 0x80300000
    li   a0, 2
    jal  ra, sum
    call twice
    li   a7, 93
    li   a0, 0
    ecall
sum:                        # a0 = 1 + ... + a0
    beqz a0, zero_sum
    addi sp, sp, -16
    sd   ra, 0(sp)
    sd   a0, 8(sp)
    addi a0, a0, -1
    jal  ra, sum
    ld   t1, 8(sp)
    ld   ra, 0(sp)
    addi sp, sp, 16
    add  a0, a0, t1
zero_sum:
    ret
twice:
    tail double
double:
    add  a0, a0, a0
    ret
#: debug:
#| kernel `program` under masks, grid 1, block 1
#| (simtlab) break 6
#| breakpoint 1: line 6
#| (simtlab) continue
#| issue 4: breakpoint 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  jal ra, sum
#| (simtlab) next
#| issue 29
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  call twice
#| (simtlab) print a0
#| a0 = 3
#| (simtlab) reverse-next
#| issue 4: breakpoint 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  jal ra, sum
#| (simtlab) step
#| issue 5
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   12  beqz a0, zero_sum
#| (simtlab) where
#| *0 line 12 in `sum`
#|  1 line 6 in `_start`
#| (simtlab) break zero_sum
#| breakpoint 2: line 23
#| (simtlab) continue
#| issue 18: breakpoint 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   23  ret
#| (simtlab) where
#| *0 line 23 in `zero_sum`
#|  1 line 17 in `sum`
#|  2 line 17 in `sum`
#|  3 line 6 in `_start`
#| (simtlab) up
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   17  jal ra, sum
#| (simtlab) print a0
#| error: the hart has one register file: registers of callers are not known
#| (simtlab) down
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   23  ret
#| (simtlab) finish
#| issue 19
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   18  ld t1, 8(sp)
#| (simtlab) where
#| *0 line 18 in `sum`
#|  1 line 17 in `sum`
#|  2 line 6 in `_start`
#| (simtlab) print a0
#| a0 = 0
#| (simtlab) finish
#| issue 23: breakpoint 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   23  ret
#| (simtlab) reverse-finish
#| issue 18: breakpoint 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   23  ret
#| (simtlab) where
#| *0 line 23 in `zero_sum`
#|  1 line 17 in `sum`
#|  2 line 17 in `sum`
#|  3 line 6 in `_start`
#| (simtlab) delete
#| (simtlab) finish
#| issue 19
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   18  ld t1, 8(sp)
#| (simtlab) finish
#| issue 24
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   18  ld t1, 8(sp)
#| (simtlab) finish
#| issue 29
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  call twice
#| (simtlab) rewind 27
#| issue 27
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   21  add a0, a0, t1
#| (simtlab) where
#| *0 line 21 in `sum`
#|  1 line 6 in `_start`
#| (simtlab) step 2
#| issue 29
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  call twice
#| (simtlab) where
#| *0 line 7 in `_start`
#| (simtlab) finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) reverse-finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) continue
#| issue 38: the launch has ended
#| (simtlab) quit
