# Blocks and a kernel body under its EXEC mask.
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
#| (simtlab) rwatch a0
#| watch 1: a0
#| (simtlab) delete 1
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   #
#|     {0} at line 5, next
#| (simtlab) stepi 6
#| issue 6
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   14  C.BSTOP
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   ########
#|     {0-7} at line 14, next
#| (simtlab) info registers p vt#1 a0
#| a0         30064771072 (0x700000000)  (of the machine)
#| p          0xff  (of the warp)
#| vt#1       0
#| (simtlab) who vt#1 depth 1
#| vt#1: written at issue 4 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 12: v.add lc0.uw, lc0.uw, ->vt.w
#|   p: changed at issue 3 by block (0,0,0), warp 0, lane 0, thread (0,0,0), line 8: C.B.DIMI 8, ->lb0
#| (simtlab) who a0
#| a0: not written since the launch began
#| (simtlab) info mechanism
#| exec, what runs next last
#|   valid      {0-7} at line 14
#|   p          {0-7} at line 14
#| (simtlab) break 13
#| breakpoint 2: line 13
#| (simtlab) continue
#| issue 10: the launch has ended
#| (simtlab) stepi
#| issue 10: the launch has ended
#| (simtlab) lanes vt#1
#| error: the warp in focus is not resident
#| (simtlab) watch [out + 12]:u32
#| watch 3: 4 bytes at global[0x70000000c]
#| (simtlab) continue
#| issue 10: the launch has ended
#| (simtlab) reverse-continue
#| issue 5: 3: [out + 12]:u32 written by lanes {3}: 0 -> 6
#| block (0,0,0), warp 0, lane 3, thread (0,0,3), active {0-7}
#| =>   13  v.swi.brg vt#1.uw, [ri0, lc0<<2, 0]
#| (simtlab) reverse-stepi 2
#| issue 3
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0}
#| =>    8  C.B.DIMI 8, ->lb0
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   #
#|     {0} at line 8, next
#| (simtlab) who a0
#| a0: not written since the launch began
#| (simtlab) quit
