# Directives with the wrong arguments.
#: machine: linx
#: check:
#: fails 2:
#| error[asm::unknown-directive]: there is no directive `.nothing`
#|   --> directives.s:24:9
#|    |
#| 24 |         .nothing 1
#|    |         ^^^^^^^^
#|    |
#|    = help: there is `.string`
#|
#| error[asm::number]: a character in quotes is one character
#|   --> directives.s:25:17
#|    |
#| 25 |         .word   'abc', 1 +
#|    |                 ^^
#|
#| error[asm::out-of-range]: a count of -1
#|   --> directives.s:26:17
#|    |
#| 26 |         .space  -1
#|    |                 ^^ not a possible number of values
        .nothing 1
        .word   'abc', 1 +
        .space  -1
        .org    0
_start: C.BSTART.STD
        ebreak  0
