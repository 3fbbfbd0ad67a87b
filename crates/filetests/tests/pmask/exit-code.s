# A code other than 0 is not a good end.
#: run:
#: trap: exit-code message="the program ended with code 7"
    li   a0, 7
    li   a7, 93
    ecall
