// A library that prevents a program from wiping memory, if it is loaded before the C library.
#include <stddef.h>

void explicit_bzero(void *start, size_t size) { (void)start, (void)size; }
