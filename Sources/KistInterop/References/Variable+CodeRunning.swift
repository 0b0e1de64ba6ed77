package import KistCore

// A name is refused for one of three reasons: its last word says that the value is code, or says
// where code is (`_OPTS`, `_COMMAND`, `_HOME`); it belongs to a program that obeys many names
// (`PYTHON…`, `GIT_…`); or it is in the list in `CodeRunningNames.swift`. The words come from the
// names that the sources in that file document, so that a name of a program that is not listed there
// is usually refused, too.
//
// A list of permitted last words, such as KEY, TOKEN and URL, would be stricter. But even the 33
// most frequent last words of the ordinary names in `CodeRunningTests.swift` miss a third of these
// names.

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
    // A number at the end counts variables of one kind: `APP_OPTS_2`.
    var unnumbered = name[...]
    while let end = unnumbered.last, end == "_" || end.isNumber { unnumbered.removeLast() }
    var words = unnumbered.split(separator: "_")
    // Builds for another machine name their tools `CC_FOR_BUILD`, `AR_FOR_TARGET`.
    if words.count > 2, words[words.count - 2] == "FOR" { words.removeLast(2) }
    guard let last = words.last else { return false }
    if wordEndings.contains(where: last.hasSuffix) || lastWords.contains(last) {
      // `UPLOAD_PATH` is a place for data.
      return !(last == "PATH" && words.dropLast().last.map(dataWords.contains) ?? false)
    }
    // `rc` files: SYSTEM_WGETRC, PSQLRC.
    if last.count > 3, last.hasSuffix("RC") { return true }
    // `CONFIG_DIR`, `PLUGIN_EXTRA_DIRS`: a word before says what is there.
    guard placeWords.contains(last) else { return false }
    words.removeLast()
    // Programs keep compiled code in their caches.
    if words.count > 1, words.last == "CACHE" { return true }
    return words.contains { before in
      lastWords.contains(before) || wordEndings.contains(where: before.hasSuffix)
    }
  }
}

/// The last words of names whose value is code, options, a program, or the place of one of these.
private let lastWords: Set<Substring> = [
  "AR", "ARG", "ARGS", "ARGUMENTS", "ASKPASS", "BIN", "BINARY", "CC", "CFG", "CFGDIR", "CMDLINE",
  "COMMANDS", "CONFIGS", "CONFIGURATION", "CPP", "CXX", "DAGS", "DEBUGGER", "DIFF", "DIFFTOOL",
  "ENGINES", "ENTRYPOINT", "EVAL", "EXE", "EXEC", "EXECUTABLE", "EXECUTABLES", "EXTENSION",
  "EXTENSIONS", "HELPER", "HOOK", "HOOKS",
  "INCLUDE", "INI", "INIT", "INTERPRETER", "JAR", "LAUNCHER", "LD", "LIB", "LIBDIR", "LIBRARIES",
  "LIBRARY", "LINKER", "MAPPER", "MERGETOOL", "MODULE", "MODULES", "OPEN", "OPENER",
  "PATHS",
  "PINENTRY", "PLUGIN", "PLUGINS", "PROFILER", "PROG", "PROGRAM", "RC", "REMOTE", "RSH", "RUNNER",
  "SCRIPT", "SCRIPTS", "SSH", "SUDO", "TCTI", "TERMINAL", "TOOLCHAIN", "TYPESETTER",
]

/// The endings of last words, also without an underscore before them: `CFLAGS`, `GNUPGHOME`.
private let wordEndings = [
  "BROWSER", "CFGDIR", "CMD", "COMMAND", "COMPILER", "CONF", "CONFDIR", "CONFIG", "CONFIGDIR",
  "EDITOR",
  "FLAGS",
  "HOME", "INITFILE", "LIBS", "LOADER", "OPT", "OPTIONS", "OPTS", "PAGER", "PATH", "PLUGINDIR",
  "PRELOAD", "PYTHON",
  "RCFILE", "SHELL", "STARTUP", "VIEWER", "WRAPPER",
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
