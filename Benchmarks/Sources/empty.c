// What any program costs to start: the yardstick of a cold `kist load`.
int main(void) { return 0; }
