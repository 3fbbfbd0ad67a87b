# Lanes of RSV: all begin with the prefix, which is no meeting; a bank turns them off for the block.
#: run:
_start:
    li   t0, 0x100
    csrw svsrcb, t0
    csrw svdst, t0
    svsetvl x0, 8
    li   a0, 0x80300000
    svon.blk 2
    sw   x16, 0(a0)
    sw   x16, 64(a0)
    li   a7, 93
    li   a0, 0
    ecall
#: debug:
#| kernel `program` under masks, grid 1, block 1
#| (simtlab) catch split
#| catch 1: split
#| (simtlab) catch merge
#| catch 2: merge
#| (simtlab) tbreak 10
#| breakpoint 3: line 10
#| (simtlab) continue
#| issue 8: breakpoint 3
#| block (0,0,0), warp 0, lane 0, thread (0,0,0), active {0-7}
#| =>   10  sw x16, 0(a0)
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   ########
#|     {0-7} at line 10, next
#| (simtlab) set bank1 = 0x0f
#| branch 1 begins at issue 8
#| (simtlab) catch mask 0x0f
#| catch 4: mask 0xf
#| (simtlab) set mask = 0x03
#| error: no mask turns lanes off now: `set` takes the registers of `info mechanism`
#| (simtlab) set svstate = svstate | 4
#| branch 1 begins at issue 8
#| (simtlab) set mask = 0x0f
#| branch 1 begins at issue 8
#| (simtlab) info lanes
#| # active  - off  . diverged  w waiting  x exited
#| block (0,0,0)
#| * warp 0   ####----
#|     {0-7} at line 10, next
#| (simtlab) continue
#| issue 13: the launch has ended
#| (simtlab) continue
#| issue 13: the launch has ended
#| (simtlab) quit
