import KistCommands

Kist.start()
