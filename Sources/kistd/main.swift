import KistDaemon

startKistd()
