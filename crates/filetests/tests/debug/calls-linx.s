# Calls of blocks: a block that sets a return address calls, a block of the type RET returns.
#: machine: linx
#: run:
_start: C.BSTART.STD
        BSTART CALL, outer, ra=.Lback
.Lback: C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
outer:  C.BSTART.STD
        addi    ra, 0, ->a1
        BSTART.STD CALL, inner
        c.setret .Linner, ->ra
.Linner: C.BSTART.STD RET
        c.setc.tgt a1
        C.BSTOP
inner:  C.BSTART.STD RET
        c.setc.tgt ra
        C.BSTOP
#: debug:
#| kernel `program` under exec, grid 1, block 1
#| (simtlab) step
#| issue 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    5  BSTART CALL, outer, ra=.Lback
#| (simtlab) next
#| issue 12
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  C.BSTART.STD
#| (simtlab) reverse-next
#| issue 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    5  BSTART CALL, outer, ra=.Lback
#| (simtlab) step
#| issue 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  C.BSTART.STD
#| (simtlab) where
#| *0 line 9 in `outer`
#|  1 line 5 in `_start`
#| (simtlab) tbreak inner
#| breakpoint 1: line 16
#| (simtlab) continue
#| issue 6: breakpoint 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   16  C.BSTART.STD RET
#| (simtlab) where
#| *0 line 16 in `inner`
#|  1 line 12 in `outer`
#|  2 line 5 in `_start`
#| (simtlab) finish
#| issue 9
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   13  C.BSTART.STD RET
#| (simtlab) where
#| *0 line 13 in `outer`
#|  1 line 5 in `_start`
#| (simtlab) finish
#| issue 12
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  C.BSTART.STD
#| (simtlab) where
#| *0 line 6 in `_start`
#| (simtlab) finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) reverse-step 3
#| issue 9
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   13  C.BSTART.STD RET
#| (simtlab) where
#| *0 line 13 in `outer`
#|  1 line 5 in `_start`
#| (simtlab) continue
#| issue 15: the launch has ended
#| (simtlab) quit
