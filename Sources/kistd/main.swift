import KistDaemon

await runKistd(Array(CommandLine.arguments.dropFirst()))
