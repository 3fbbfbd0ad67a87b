# Lanes part and meet in the EXEC mask.
#: machine: linx
#: run: --arg out=u32[8]
        .param  out
_start: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 8, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.cmp.ltui lc0.ud, 3, ->p
        v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
        v.xori  zero.ud, -1, ->p
        v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
        C.BSTOP
#: debug:
#| kernel `program` under exec, grid 1, block 1
#| (simtlab) catch split
#| catch 1: split
#| (simtlab) catch merge
#| catch 2: merge
#| (simtlab) catch mask 0x7
#| catch 3: mask 0x7
#| (simtlab) continue
#| issue 5: 1: lanes part: {0-2} and {3-7}
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   13  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   ###-----
#|     {0-7} at line 13, next
#| (simtlab) continue
#| issue 7: 2: lanes meet: {0-2} and {3-7}
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   15  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) continue
#| issue 12: the launch has ended
#| (simtlab) continue
#| issue 12: the launch has ended
#| (simtlab) continue
#| issue 12: the launch has ended
#| (simtlab) reverse-continue
#| issue 6: 2: lanes meet: {0-2} and {3-7}
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   14  v.xori zero.ud, -1, ->p
#| (simtlab) reverse-continue
#| issue 5: 3: lanes {0-2} are active
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   13  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) reverse-continue
#| issue 4: 1: lanes part: {0-2} and {3-7}
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   12  v.cmp.ltui lc0.ud, 3, ->p
#| (simtlab) delete
#| (simtlab) rewind 5
#| issue 5
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   13  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   ###-----
#|     {0-7} at line 13, next
#| (simtlab) rejoin
#| issue 7
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   15  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) reverse-rejoin
#| issue 4
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   12  v.cmp.ltui lc0.ud, 3, ->p
#| (simtlab) rejoin
#| issue 7
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   15  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) focus lane 5
#| block (0,0,0), warp 0, lane 5, thread (0,0,5), active {0-7}
#| =>   15  v.swi.brg lc0.uw, [ri0, lc0<<2, 0]
#| (simtlab) reverse-rejoin
#| issue 4
#| block (0,0,0), warp 0, lane 5, thread (0,0,5), active {0-7}
#| =>   12  v.cmp.ltui lc0.ud, 3, ->p
#| (simtlab) barrier
#| error: this machine has no barriers
#| (simtlab) catch arrive
#| error: this machine has no barriers
#| (simtlab) finish
#| error: the lane is in its outermost function: no call returns
#| (simtlab) quit
