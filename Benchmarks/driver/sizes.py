"""The size of the measurements: the full run, and a short one for development."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    stores: tuple  # the number of credentials in each store; the others are compared with the first
    rounds: int
    unpinned_rounds: int
    loads: int
    saves: int
    many: int  # requests of all clients together
    watched: int  # saves that watchers receive
    large_loads: int  # of secrets of 512 KiB
    large_saves: int
    starts: int  # of the daemon
    cold: int  # starts of a program
    cold_slow: int  # starts of a program that takes a tenth of a second
    keyring_loads: int
    keyring_saves: int
    settling: int  # seconds until the deadline of the last request has been checked
    quiet: int  # seconds after that, in which wake-ups are counted


FULL = Sizes(
    stores=(100, 1000, 10_000, 100_000, 1_000_000), rounds=7, unpinned_rounds=3, loads=5000, saves=3000,
    many=20_000, watched=500, large_loads=200, large_saves=50, starts=9, cold=100, cold_slow=10, keyring_loads=500,
    keyring_saves=30, settling=40, quiet=60)
QUICK = Sizes(
    stores=(100, 1000, 10_000), rounds=3, unpinned_rounds=2, loads=1000, saves=500, many=4000, watched=50,
    large_loads=20, large_saves=10, starts=3, cold=20, cold_slow=2, keyring_loads=100,
    keyring_saves=5, settling=1, quiet=5)

IN_KEYRING = 1000
SECRETS = {"32 B": 32, "4 KiB": 4 << 10, "512 KiB": 512 << 10}
CLIENTS = (8, 64)
WATCHERS = (1, 100)
DEPTH = 64
