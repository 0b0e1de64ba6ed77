// This module has no declarations: a program that is linked with it uses its realloc(3).
