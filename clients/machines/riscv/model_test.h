// The target of riscv-arch-test: a test ends by system calls, which QEMU's user mode answers as the machine does. The signature is
// written to standard output, so that both are compared for one executable.
#ifndef _MODEL_TEST_H
#define _MODEL_TEST_H

#define RVMODEL_BOOT
#define RVMODEL_HALT \
  li a7, 64; li a0, 1; la a1, begin_signature; la a2, end_signature; sub a2, a2, a1; ecall; \
  li a7, 93; li a0, 0; ecall;
#define RVMODEL_DATA_BEGIN .align 4; .global begin_signature; begin_signature:
#define RVMODEL_DATA_END .align 4; .global end_signature; end_signature:

// Floating point is on from the beginning; user mode may not write mstatus.
.macro csrs register, value
  .ifnc \register, mstatus
    csrrs x0, \register, \value
  .endif
.endm

#define RVMODEL_IO_INIT
#define RVMODEL_IO_WRITE_STR(_R, _STR)
#define RVMODEL_IO_CHECK()
#define RVMODEL_IO_ASSERT_GPR_EQ(_S, _R, _I)
#define RVMODEL_IO_ASSERT_SFPR_EQ(_F, _R, _I)
#define RVMODEL_IO_ASSERT_DFPR_EQ(_D, _R, _I)

#define RVMODEL_SET_MSW_INT
#define RVMODEL_CLEAR_MSW_INT
#define RVMODEL_CLEAR_MTIMER_INT
#define RVMODEL_CLEAR_MEXT_INT

#endif
