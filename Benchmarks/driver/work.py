"""The measurements of each round, by theme: their names, and how to measure them on some CPUs."""

from . import peers, programs, requests, sizes


class Work:
    def __init__(self, world):
        self.world, self.folder, self.amount = world, world.folder, world.amount

    def everything(self):
        return {**self.one_client(), **self.many_clients(), **self.watching(),
                **self.large_secrets(), **self.store_sizes(), **self.whole_programs()}

    def one_client(self):
        world, amount = self.world, self.amount
        database = self.folder / "sqlite.db"
        size = len(requests.save(0))
        return {
            "echo": lambda cpus: self._asked(world.echo(), requests.load(0), amount.loads, cpus),
            "ssh-agent": lambda cpus: self._run(
                "ssh_agent", world.peers.agent_socket, amount.loads, cpus=cpus),
            "sqlite load": lambda cpus: self._run(
                "sqlite", "load", database, amount.loads, sizes.IN_KEYRING, cpus=cpus),
            "libsecret lookup": lambda cpus: self._libsecret("lookup", amount.keyring_loads, cpus),
            "libsecret search": lambda cpus: self._libsecret("search", amount.keyring_loads, cpus),
            "python load": lambda cpus: self._python("load", amount.keyring_loads, cpus),
            "keyring load": lambda cpus: self._asked(
                world.in_keyring.socket, requests.spread(requests.load, sizes.IN_KEYRING),
                amount.keyring_loads, cpus),
            "append": lambda cpus: self._append(size, amount.saves, cpus),
            "sqlite save": lambda cpus: self._run(
                "sqlite", "save", database, amount.saves, sizes.IN_KEYRING, cpus=cpus),
            "libsecret save": lambda cpus: self._libsecret("store", amount.keyring_saves, cpus),
            "python save": lambda cpus: self._python("save", amount.keyring_saves, cpus),
            "keyring save": lambda cpus: self._asked(
                world.in_keyring.socket, requests.spread(requests.save, sizes.IN_KEYRING),
                amount.keyring_saves, cpus),
        }

    def many_clients(self):
        world, amount = self.world, self.amount
        loads = requests.spread(requests.load, world.small.size)
        saves = requests.spread(requests.save, world.small.size)

        def asked(socket, lines, clients, depth, count):
            return lambda cpus: self._run("clients", socket, clients, depth, count, lines=lines, cpus=cpus)

        work = {}
        for clients in sizes.CLIENTS:
            work |= {f"echo {clients}": asked(world.echo(), loads, clients, 1, amount.many),
                     f"load {clients}": asked(world.small.socket, loads, clients, 1, amount.many),
                     f"save {clients}": asked(world.small.socket, saves, clients, 1, amount.many)}
        return work | {
            "echo pipelined": asked(world.echo(), loads, 1, sizes.DEPTH, amount.many),
            "load pipelined": asked(world.small.socket, loads, 1, sizes.DEPTH, amount.many),
        }

    def watching(self):
        saves = requests.spread(requests.save, self.world.small.size)

        def notified(watchers):
            return lambda cpus: self._run("watchers", self.world.small.socket, watchers, self.amount.watched,
                                          lines=saves, cpus=cpus)

        return {f"notified {watchers}": notified(watchers) for watchers in sizes.WATCHERS}

    def large_secrets(self):
        work = {}
        for size in sizes.SECRETS.values():
            few = size >= 1 << 16
            loads = self.amount.large_loads if few else self.amount.loads
            saves = self.amount.large_saves if few else self.amount.saves // 3
            work |= self._of_size(size, loads, saves)
        return work

    def _of_size(self, size, loads, saves):
        load, save = (b"".join(requests.large(operation, size, number) for number in range(4))
                      for operation in ("load", "save"))
        return {
            f"echo of {size}": lambda cpus: self._asked(self.world.echo(size), load, loads, cpus),
            f"load of {size}": lambda cpus: self._asked(self.world.small.socket, load, loads, cpus),
            f"append of {size}": lambda cpus: self._append(len(save) // 4, saves, cpus),
            f"save of {size}": lambda cpus: self._asked(self.world.small.socket, save, saves, cpus),
        }

    def store_sizes(self):
        def asked(size, operation, count):
            lines = requests.spread(operation, size)
            store = self.world.stores[size]

            def work(cpus):
                store.read_into_cache()
                return self._asked(store.socket, lines, count, cpus)
            return work

        return {f"{name} among {size}": asked(size, operation, count)
                for name, operation, count in (("load", requests.load, self.amount.loads),
                                               ("save", requests.save, self.amount.saves))
                for size in self.amount.stores}

    def whole_programs(self):
        world, tools = self.world, self.world.peers
        kist, account, ours = world.kist, list(requests.key(1).values()), world.small.environment
        theirs, words = world.keyring.environment, tools.key_words()
        secret_tool, python = "/usr/bin/secret-tool", [peers.PYTHON, "-m", "keyring"]
        work = {
            "empty": self._started([self.folder / "empty"]),
            "kist load": self._started([kist, "load", *account], ours),
            "kist save": self._started([kist, "save", *account], ours, given=tools.secret),
            "kist helper": self._started([kist, "helper", "git", "get"], ours, given=tools.request),
            "ssh-add": self._started(["/usr/bin/ssh-add", "-l"], tools.agent_environment),
            "secret-tool lookup": self._started([secret_tool, "lookup", *words], theirs),
            "secret-tool store": self._started(
                [secret_tool, "store", "--label=Alice", "service", "stored", "account", "alice"], theirs,
                given=tools.secret, slow=True),
            "pass show": self._started(tools.show_command(), tools.pass_environment, slow=True),
            "pass insert": self._started(
                tools.insert_command(), tools.pass_environment, given=tools.secret, slow=True),
            "python keyring": self._started([*python, "get", "python-0.example.org", "alice"], theirs,
                                            slow=True),
        }
        if tools.git_helper.exists():
            work["git helper"] = self._started([tools.git_helper, "get"], theirs, given=tools.request)
        return work

    def _started(self, command, environment=None, given="/dev/null", slow=False):
        count = self.amount.cold_slow if slow else self.amount.cold
        return lambda cpus: self._run("spawn", count, given, *command, cpus=cpus, environment=environment)

    def _asked(self, socket, lines, count, cpus):
        return self._run("roundtrip", socket, count, lines=lines, cpus=cpus)

    def _append(self, size, count, cpus):
        return self._run("append", self.folder / "appended", size, count, cpus=cpus)

    def _libsecret(self, call, count, cpus):
        return self._run("libsecret", call, count, sizes.IN_KEYRING, cpus=cpus,
                         environment=self.world.keyring.environment)

    def _python(self, operation, count, cpus):
        return programs.measure(self.world.peers.python_command(operation, count), cpus=cpus,
                                environment=self.world.keyring.environment)

    def _run(self, program, *words, **options):
        return programs.measure([self.folder / program, *words], **options)
