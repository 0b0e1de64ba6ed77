"""The running programs of a measurement: kistd with stores of every size, the limits and the peers."""

import subprocess
import time

from . import daemon, keyring, peers, processes, programs, requests, sizes


class World:
    def __init__(self, binaries, folder, amount):
        self.amount, self.folder, self.kist = amount, folder, binaries / "kist"
        programs.build_yardsticks(folder)
        self.stores = {size: daemon.Daemon(binaries / "kistd", folder, size) for size in amount.stores}
        self.small = self.stores[amount.stores[0]]
        self.keyring = keyring.Keyring(folder)
        self.in_keyring = daemon.Daemon(binaries / "kistd", folder, sizes.IN_KEYRING, self.keyring)
        self.peers = peers.Peers(folder, self.keyring)
        self.echoes = {}

    @property
    def daemons(self):
        return [*self.stores.values(), self.in_keyring]

    def start(self):
        """Starts everything and fills the stores; returns the saves per second of each fill."""
        self.keyring.start()
        rates = {}
        for store in self.daemons:
            store.start()
            rates[store] = store.fill()
            store.wait_until_checked()
            print(f"filled a store with {store.size:,} credentials, {rates[store]:,.0f} a second",
                  flush=True)
        self.peers.start()
        self.small.answered(requests.line("save", service="https://git.example.org", account="alice",
                                          secret="x"))
        self._start_echo("load", requests.load(0))
        for size in sizes.SECRETS.values():
            for number in range(4):
                self.small.answered(requests.large("save", size, number))
            self._start_echo(size, requests.large("load", size, 0))
        return rates

    def _start_echo(self, name, request):
        """Starts an echo server whose replies are as long as kistd's reply to a request."""
        address = self.folder / f"echo-{name}.sock"
        size = len(self.small.ask(request))
        self.echoes[name] = (address, subprocess.Popen([self.folder / "echo", address, str(size)]))
        processes.wait("the echo", address.exists)

    def echo(self, name="load"):
        return self.echoes[name][0]

    def stop(self):
        for store in self.daemons:
            store.stop()
        self.peers.stop()
        self.keyring.stop()
        for _, process in self.echoes.values():
            process.kill()
            process.wait()

    def pin_servers(self, cpus):
        for process in (*(store.process for store in self.daemons), *self.keyring.processes,
                        self.peers.agent, *(process for _, process in self.echoes.values())):
            processes.pin(process.pid, cpus)

    def restart(self, store):
        """Returns the seconds from a start to the first answer, several times, and the memory."""
        starts = []
        for _ in range(self.amount.starts):
            store.stop()
            starts.append(store.start())
        store.wait_until_checked()
        return starts, processes.peak(store.process.pid), store.resident()

    def at_rest(self):
        """Returns how often idle processes wake up in a minute, and the memory of each in MiB."""
        pids = {f"kistd, {size:,} credentials": self.stores[size].process.pid
                for size in (min(self.stores), max(self.stores))}
        pids |= {f"gnome-keyring-daemon, {sizes.IN_KEYRING:,} items": self.keyring.processes[-1].pid,
                 "ssh-agent, one key": self.peers.agent.pid}
        time.sleep(self.amount.settling)
        before = {name: processes.wake_ups(pid) for name, pid in pids.items()}
        time.sleep(self.amount.quiet)
        return {name: (processes.wake_ups_since(pid, before[name]) * 60 / self.amount.quiet,
                       processes.resident(pid)) for name, pid in pids.items()}
