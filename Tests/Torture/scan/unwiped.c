// A library that has a program wipe nothing, where it is loaded before the C library.
#include <stddef.h>

void explicit_bzero(void *start, size_t size) { (void)start, (void)size; }
