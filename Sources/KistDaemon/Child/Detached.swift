internal import CLinux
internal import Glibc
internal import KistCore
internal import KistFile
internal import KistSystem

/// A kistd that continues in the background when it serves: `kistd --detach`.
///
/// Until then, it uses the standard error of the process that started it, which waits.
struct Detached: Sendable {
  private let starter: CInt
  /// The descriptor of the log.
  let log: CInt

  /// Continues in a child process, without the terminal, the directory and the descriptors of the
  /// process that started it.
  ///
  /// Call it when the passphrase is read, and before there is a second thread.
  init(logFile: String, _ sockets: PassedSockets) throws(StorageError) {
    guard sockets == PassedSockets() else {
      throw .wrongUsage("--detach is not for a service manager, which waits for kistd itself")
    }
    closefrom(STDERR_FILENO + 1)
    try checkLog(logFile)
    try makeDirectory(directory(of: logFile), hint: otherLogHint)
    log = try openLog(logFile, O_CREAT)
    guard unsafe chdir("/") == 0 else { throw .failed("enter", "/", hint: "try again") }
    starter = kist_detach()
    guard starter >= 0 else { throw .internal("cannot fork: \(systemText(of: errno))") }
  }

  /// Replaces the standard streams when kistd serves, and ends the process that waits.
  ///
  /// A reload is `ready` again, which changes nothing.
  var manager: ServiceManager {
    ServiceManager { notice in
      guard notice == .ready else { return }
      StandardDescriptors.close(STDIN_FILENO)
      StandardDescriptors.close(STDOUT_FILENO)
      dup2(log, STDERR_FILENO)
      _ = unsafe write(starter, "", 1)
    }
  }
}

extension Options {
  /// Refuses options that are not possible in the background.
  func checkDetaching() throws(StorageError) {
    guard logFile != nil else { return }
    guard command.isEmpty else {
      throw .wrongUsage(
        "--detach and a command cannot be combined", hint: "`kistd -- COMMAND` needs no --detach")
    }
    let paths = StorageKind.all.map { $0.files(self) }.flatMap { $0.own + $0.store + $0.read }
    guard (paths + [pinFile]).allSatisfy({ $0.hasPrefix("/") }) else {
      let variable = pinFile.hasPrefix("/") ? "CREDENTIALS_DIRECTORY" : "HOME"
      throw .wrongUsage(
        "a kistd in the background needs an absolute path in \(variable)",
        hint: "kistd leaves the current directory: write `$PWD/…`")
    }
  }
}

extension Options {
  /// Throws where kistd could not open its log in the background; changes nothing.
  ///
  /// Without `--detach`, a missing log is accepted.
  func checkLog() throws(StorageError) {
    let path = logFile ?? directory(of: pinFile) + "/kistd.log"
    if logFile != nil || fileStatus(ofLink: path) != nil { try KistDaemon.checkLog(path) }
  }
}

private func checkLog(_ path: String) throws(StorageError) {
  if fileStatus(ofLink: path) == nil {
    try checkWritable(directory(of: path), orElse: "name another directory: \(otherPlaces)")
  } else {
    close(try openLog(path))
  }
}

private func openLog(_ path: String, _ flags: CInt = 0) throws(StorageError) -> CInt {
  try openOwnFile(path, O_WRONLY | O_APPEND | flags, hint: otherLogHint)
}

private let otherLogHint = "check the directory, or name another one: \(otherPlaces)"

/// The log is beside the store that the user names, or else in the state directory.
private let otherPlaces = "with --data or KISTD_DATA, or without these in XDG_STATE_HOME"
