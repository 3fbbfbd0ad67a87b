# Every form of steps, forwards and backwards: blocks of scalar instructions, and a body of eight lanes.
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
body:   v.add   lc0.uw, lc0.uw, ->vt.w
        v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
        C.BSTOP
#: debug:
#| kernel `program` under exec, grid 1, block 1
#| (simtlab) stepi
#| issue 1
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    6  B.TEXT body
#| (simtlab) stepi 3
#| issue 4
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   12  v.add lc0.uw, lc0.uw, ->vt.w
#| (simtlab) reverse-stepi 2
#| issue 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  B.IOR [a0],[]
#| (simtlab) step
#| issue 3
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  C.B.DIMI 8, ->lb0
#| (simtlab) step 3
#| issue 6
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   14  C.BSTOP
#| (simtlab) reverse-step
#| issue 5
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   13  v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
#| (simtlab) next 2
#| issue 7
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    9  C.BSTART.STD
#| (simtlab) reverse-next
#| issue 6
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   14  C.BSTOP
#| (simtlab) rejoin
#| issue 10: the launch has ended
#| (simtlab) reverse-rejoin
#| issue 0: the start of the launch
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    5  BSTART.MSEQ 0
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
#| =>    9  C.BSTART.STD
#| (simtlab) rewind 2
#| issue 2
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    7  B.IOR [a0],[]
#| (simtlab) continue
#| issue 10: the launch has ended
#| (simtlab) reverse-stepi
#| issue 9
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>   11  ebreak 0
#| (simtlab) continue
#| issue 10: the launch has ended
#| (simtlab) reverse-continue
#| issue 0: the start of the launch
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    5  BSTART.MSEQ 0
#| (simtlab) quit
