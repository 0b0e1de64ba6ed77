// The minimum cost of starting a program, for comparison with a cold `kist load`.
int main(void) { return 0; }
