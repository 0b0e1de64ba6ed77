"""python_keyring.py load|save COUNT ITEMS: what Python's keyring takes in a process that stays."""

import sys
import time

import keyring

[_, operation, count, items] = sys.argv
samples = []
for number in range(int(count)):
    service = f"python-{number % int(items)}.example.org"
    start = time.monotonic_ns()
    if operation == "save":
        keyring.set_password(service, "alice", "correct horse battery staple 0000000")
    elif not keyring.get_password(service, "alice"):
        raise SystemExit(f"a password was not found: {service}")
    samples.append(time.monotonic_ns() - start)
per_second = len(samples) * 1e9 / sum(samples)
samples.sort()
print(samples[len(samples) // 2], samples[len(samples) * 99 // 100], per_second)
