// The board of embench-iot: nothing to set up, and no clock to read.
#include <support.h>

void initialise_board(void) {}

void start_trigger(void) {}

void stop_trigger(void) {}
