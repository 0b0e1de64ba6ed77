package import KistCore

// The names come from these sources, as of 2026. According to them, the variables are removed
// before programs with more rights start, or contain code or its location:
//
// - glibc, sysdeps/generic/unsecvars.h and ld.so(8), except names that only set sizes of memory or
//   the place of temporary files (`MALLOC_ARENA_MAX` …, `TMPDIR`); Apple's dyld(1);
// - sudo, plugins/sudoers/env.c, `initial_badenv_table`;
// - bash(1), dash(1), zsh(1), python(1), perlrun(1), ruby(1), node(1), php(1), lua(1), java(1), R's
//   `?Startup`, git(1), npm-config(7), make(1), less(1), openssl-env(7), and the documentation of
//   .NET, Go, cargo, Erlang and kubectl;
// - psql(1), apt.conf(5), gcc(1), wget(1), zip(1), rsync(1), hg(1), fzf(1), rg(1), pytest and
//   Ansible.
//
// Variables that only say where a program connects, what it trusts or what it prints are not
// listed: `HTTPS_PROXY`, `SSL_CERT_FILE`, `LANG`, `PYTHONUNBUFFERED`.

extension Variable {
  /// Throws `denied` for a variable of a file that may make a program run other code.
  ///
  /// Such programs are loaders, shells, interpreters and tools. The list covers known programs; no
  /// list can be complete. Variables in `allowed` are not refused.
  package func checkRunsNoCode(allowing allowed: [String]) throws(StorageError) {
    guard !allowed.contains(name), Self.mayRunCode(name) else { return }
    throw .refused(
      "\(place): \(name) can make a program run other code; nothing was started", as: .denied,
      hint: "remove the line; or, if you trust the value, allow it with `--allow-env \(name)`")
  }

  static func mayRunCode(_ name: String) -> Bool {
    // npm accepts its names in any case.
    let lowercase = name.lowercased()
    return codeRunningNames.contains(name) || codeRunningPrefixes.contains(where: name.hasPrefix)
      || codeRunningSuffixes.contains(where: name.hasSuffix) || lowercase.hasPrefix("npm_config_")
  }
}

/// The prefixes of whole families of names.
private let codeRunningPrefixes = [
  // The dynamic loaders of Linux, macOS and IRIX.
  "LD_", "DYLD_", "_RLD",
  // Functions of bash.
  "BASH_FUNC_", "__BASH_FUNC",
  // A bus address can name a program to start, and a place to load from.
  "DBUS_",
  // Git runs the programs that many of these name, and reads its configuration from others.
  "GIT_",
  // Interpreters and their package managers.
  "COMPlus_", "CORECLR_", "COR_PROFILER", "GUILE_", "JULIA_", "LUA_", "MONO_", "PERL5", "PYTEST_",
  "R_LIBS", "TS_NODE_",
  // Builds start the compilers, linkers, runners and wrappers that these name.
  "CARGO_BUILD_", "CARGO_TARGET_", "CMAKE_",
  // Modules and configuration that name code.
  "ANSIBLE_", "LIBMYSQL_PLUGIN",
]

/// The suffixes of names that many programs use for what they start or load.
private let codeRunningSuffixes = [
  "_ASKPASS", "_COMMAND", "_CREDENTIAL_PROVIDER", "_CREDENTIAL_PROVIDERS", "_EDITOR",
  "_LIBRARY_PATH", "_LOADPATH", "_PAGER", "_RSH",
]

/// Single names, grouped by the programs that read them.
private let codeRunningNames: Set<String> = [
  // Where programs and configuration files are found.
  "HOME", "PATH", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME",
  // The C library: converters and locales that it loads, files that it reads or writes.
  "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
  "MALLOC_TRACE", "NIS_PATH", "NLSPATH", "PATH_LOCALE", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
  // Other libraries: modules that they load.
  "GDK_PIXBUF_MODULE_FILE", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "GSS_MECH_CONFIG",
  "GTK_EXE_PREFIX", "GTK_MODULES", "GTK_PATH", "KRB5_CONFIG", "KRB5_KTNAME", "ODBCINI",
  "ODBCINSTINI", "ODBCSYSINI", "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_ENGINES",
  "OPENSSL_MODULES", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "SASL_CONF_PATH", "SASL_PATH",
  "TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TERMPATH",
  // Shells.
  "BASHOPTS", "BASH_ENV", "BASH_LOADABLES_PATH", "CDPATH", "ENV", "FPATH", "GLOBIGNORE", "IFS",
  "NULLCMD", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "PSModulePath", "READNULLCMD", "SHELL",
  "SHELLOPTS", "TMPPREFIX", "ZDOTDIR",
  // Python.
  "PYTHONBREAKPOINT", "PYTHONEXECUTABLE", "PYTHONHOME", "PYTHONINSPECT", "PYTHONPATH",
  "PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONWARNINGS",
  "PYTHON_PRESITE", "PIP_CONFIG_FILE",
  // Perl, Ruby, Node.js, PHP, R, Tcl, Emacs Lisp and OCaml.
  "PERLIO_DEBUG", "PERLLIB", "IRBRC", "RUBYGEMS_GEMDEPS", "RUBYLIB", "RUBYOPT", "RUBYPATH",
  "RUBYSHELL", "SPEC_OPTS", "BUNDLE_APP_CONFIG", "BUNDLE_GEMFILE", "BUNDLE_PATH", "GEM_HOME",
  "GEM_PATH", "BUN_OPTIONS", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "PHPRC",
  "PHP_INI_SCAN_DIR", "R_ENVIRON", "R_ENVIRON_USER", "R_PROFILE", "R_PROFILE_USER", "TCLLIBPATH",
  "EMACSLOADPATH",
  // Java and .NET.
  "CATALINA_OPTS", "CLASSPATH", "GRADLE_OPTS", "GRADLE_USER_HOME", "JAVACMD", "JAVA_HOME",
  "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_ARGS", "MAVEN_OPTS", "SBT_OPTS",
  "_JAVA_OPTIONS", "COR_ENABLE_PROFILING", "DOTNET_ADDITIONAL_DEPS", "DOTNET_ROOT",
  "DOTNET_SHARED_STORE", "DOTNET_STARTUP_HOOKS",
  // Erlang, Go, Rust, make and compilers.
  "AR", "AS", "CARGO_ENCODED_RUSTDOCFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_HOME", "CC", "CFLAGS",
  "COMPILER_PATH", "CPP", "CPPFLAGS", "CXX", "CXXFLAGS", "ELIXIR_ERL_OPTIONS", "ERL_AFLAGS",
  "ERL_FLAGS", "ERL_LIBS", "ERL_ZFLAGS", "GCC_EXEC_PREFIX", "GNUMAKEFLAGS", "GOAUTH", "GOCACHEPROG",
  "GOENV", "GOFLAGS", "GOROOT", "GOTOOLCHAIN", "LD", "LDFLAGS", "LIBRARY_PATH", "MAKEFILES",
  "MAKEFLAGS", "MFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC",
  "RUSTDOCFLAGS", "RUSTFLAGS", "RUSTUP_TOOLCHAIN",
  // Programs that other programs start, and options that can name one.
  "BROWSER", "EDITOR", "EXINIT", "FZF_DEFAULT_OPTS", "FZF_DEFAULT_OPTS_FILE", "GVIMINIT",
  "HGEDITOR", "LESS", "LESSCLOSE", "LESSKEY", "LESSOPEN", "MANOPT", "MANPAGER", "PAGER",
  "RSYNC_CONNECT_PROG", "SSH_PKCS11_HELPER", "SSH_SK_PROVIDER", "SVN_SSH", "TAR_OPTIONS", "VIM",
  "VIMINIT", "VIMRUNTIME", "VISUAL", "ZIP", "ZIPOPT",
  // Configuration that names commands to run.
  "APT_CONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "CLOUDSDK_PYTHON", "CURL_HOME",
  "CONTAINERS_CONF", "DOCKER_CONFIG", "GNUPGHOME", "HGRCPATH", "KUBECONFIG", "PGSYSCONFDIR",
  "PSQLRC", "RIPGREP_CONFIG_PATH", "TF_CLI_CONFIG_FILE", "WGETRC", "YARN_PLUGINS",
  "YARN_RC_FILENAME", "YARN_YARN_PATH",
]
