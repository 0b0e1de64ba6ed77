package import KistCore

// A name is refused for one of three reasons: its last word says that the value is code, or says
// where code is (`_OPTS`, `_COMMAND`, `_HOME`); it belongs to a program that obeys many names
// (`PYTHON…`, `GIT_…`); or it is in the list in `CodeRunningNames.swift`. The words come from the
// names that the sources in that file document, so that a name of a program that is not listed there
// is usually refused, too.

extension Variable {
  /// Throws `denied` for a variable of a file that may make a program run other code.
  ///
  /// Such programs are loaders, shells, interpreters and tools. No list of names can be complete.
  /// Variables in `allowed` are not refused.
  package func checkRunsNoCode(allowing allowed: [String]) throws(StorageError) {
    guard !allowed.contains(name), Self.mayRunCode(name) else { return }
    throw .refused(
      "\(place): \(name) can make a program run other code; nothing was started", as: .denied,
      hint: "remove the line; or, if you trust the value, allow it with `--allow-env \(name)`")
  }

  static func mayRunCode(_ name: String) -> Bool {
    // Some programs, such as npm, accept their names in any case.
    let name = name.uppercased()
    if ordinaryNames.contains(name) { return false }
    return codeRunningNames.contains(name) || codeRunningPrefixes.contains(where: name.hasPrefix)
      || name.contains("CREDENTIAL_PROVIDER") || isNamedLikeCode(name)
  }

  private static func isNamedLikeCode(_ name: String) -> Bool {
    var words = name.split(separator: "_")
    guard let last = words.last else { return false }
    if wordEndings.contains(where: last.hasSuffix) || lastWords.contains(last) {
      // `UPLOAD_PATH` is a place for data.
      return !(last == "PATH" && words.dropLast().last.map(dataWords.contains) ?? false)
    }
    // `rc` files: WGETRC, PSQLRC.
    if words.count == 1, last.count > 3, last.hasSuffix("RC") { return true }
    // `CONFIG_DIR`, `PLUGIN_FILE`: the word before says what is there.
    guard placeWords.contains(last) else { return false }
    words.removeLast()
    return words.last.map { before in
      lastWords.contains(before) || wordEndings.contains(where: before.hasSuffix)
    } ?? false
  }
}

/// The last words of names whose value is code, options, a program, or the place of one of these.
private let lastWords: Set<Substring> = [
  "AR", "ARG", "ARGS", "ARGUMENTS", "ASKPASS", "BIN", "BINARY", "CC", "CFG", "CMD", "CMDLINE",
  "COMMANDS", "CONF", "CONFIG", "CONFIGS", "CPP", "CXX", "DEBUGGER", "ENGINES", "ENTRYPOINT",
  "EVAL", "EXE", "EXECUTABLE", "EXECUTABLES", "EXTENSION", "EXTENSIONS", "HELPER", "HOOK", "HOOKS",
  "INCLUDE", "INI", "INIT", "INTERPRETER", "JAR", "LAUNCHER", "LD", "LIB", "LIBDIR", "LIBRARIES",
  "LIBRARY", "LIBS", "LINKER", "MODULE", "MODULES", "OPENER", "OPT", "PATHS", "PLUGIN", "PLUGINS",
  "PROFILER",
  "PROG", "PROGRAM", "RC", "RCFILE", "RSH", "RUNNER", "SCRIPT", "SCRIPTS", "TERMINAL", "TOOLCHAIN",
  "VIEWER",
]

/// The endings of last words, also without an underscore before them: `CFLAGS`, `GNUPGHOME`.
private let wordEndings = [
  "BROWSER", "COMMAND", "COMPILER", "EDITOR", "FLAGS", "HOME", "LOADER", "OPTIONS", "OPTS", "PAGER",
  "PATH", "PRELOAD", "PYTHON", "SHELL", "STARTUP", "WRAPPER",
]

/// The words before `PATH` in ordinary names.
private let dataWords: Set<Substring> = [
  "API", "BACKUP", "BASE", "CA", "CALLBACK", "CERT", "COOKIE", "CREDENTIALS", "DATA", "DATABASE",
  "DB", "KEY", "LOG", "LOGS", "MEDIA", "PUBLIC", "SESSION", "SOCKET", "STATIC", "STORAGE", "UPLOAD",
  "UPLOADS", "URL",
]

/// The words of places: `CONFIG_DIR` is the place of a configuration.
private let placeWords: Set<Substring> = [
  "DIR", "DIRECTORY", "DIRS", "FILE", "FILES", "FOLDER", "LOCATION", "LOCATIONS", "ROOT",
]
