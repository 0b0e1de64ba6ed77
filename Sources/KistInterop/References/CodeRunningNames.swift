// The names come from these sources, as of 2026. According to them, the variables are removed
// before programs with more rights start, or contain code or its location:
//
// - glibc, sysdeps/generic/unsecvars.h and ld.so(8), except names that only set sizes of memory or
//   the place of temporary files (`MALLOC_ARENA_MAX` …, `TMPDIR`); Apple's dyld(1);
// - sudo, plugins/sudoers/env.c, `initial_badenv_table`;
// - bash(1), dash(1), zsh(1), python(1), perlrun(1), ruby(1), node(1), php(1), lua(1), java(1), R's
//   `?Startup`, git(1), npm-config(7), make(1), less(1), openssl-env(7), and the documentation of
//   .NET, Go, cargo, Erlang, kubectl, Hadoop, Spark, Maven, Gradle, uv, pip, Gunicorn and Ansible;
// - the variables that make(1) puts into commands (`make -p`), autoconf, autoreconf(1), tpm2(1),
//   w3m(1), mc(1), groff(1), debconf(7), texi2dvi(1), and the documentation of Uvicorn, Flask, Quart, Litestar, RQ, Locust, asdf,
//   mise, SDKMAN, Selenium, gopass, Open MPI, OpenTofu, libgphoto2, libpq and the Linux kernel's build;
// - psql(1), apt.conf(5), gcc(1), wget(1), zip(1), rsync(1), hg(1), fzf(1), rg(1), screen(1), man(1),
//   pass(1), restic(1), borg(1), debhelper(7), systemctl(1), rclone(1), sops(1), brew(1), octave(1),
//   racket(1), task(1), nmap(1), virsh(1), prove(1), and the documentation of Airflow, Log4j, Spring
//   Boot, Swift, Bootsnap and Black.
//
// Variables that only say where a program connects, what it trusts or what it prints are not
// listed: `HTTPS_PROXY`, `SSL_CERT_FILE`, `LANG`, `PYTHONUNBUFFERED`.

/// The prefixes of whole families of names.
let codeRunningPrefixes = [
  // The dynamic loaders of Linux, macOS and IRIX, and libraries that are made to be preloaded.
  "LD_", "DYLD_", "_RLD", "FAKEROOT", "FAKECHROOT", "COWDANCER",
  // Functions and settings of bash.
  "BASH_", "__BASH_FUNC",
  // A bus address can name a program to start. systemd's programs start pagers and editors.
  "DBUS_", "SYSTEMD_",
  // Git runs the programs that many of these name, and reads its configuration from others.
  "GIT_",
  // Python and its tools.
  "PYTHON", "PIP_", "PIPX_", "PIPENV_", "POETRY_", "PDM_", "UV_", "CONDA_", "MAMBA_", "PYENV_",
  "PYTEST_", "TOX_", "NOX_", "JUPYTER_", "IPYTHON", "COVERAGE_PROCESS_", "PEX_", "SHIV_",
  "UVICORN_", "VIRTUALENV",
  // Node.js, Ruby, Perl, PHP, Lua, Julia, R, Tcl, Emacs Lisp, OCaml and Haskell.
  "NODE_", "NPM_CONFIG_", "NVM_", "YARN_", "PNPM_", "COREPACK_", "BUN_", "DENO_", "TS_NODE_",
  "ELECTRON_", "RUBY", "BUNDLE_", "BUNDLER_", "GEM_", "RBENV_", "IRB", "PERL", "PHP_INI",
  "COMPOSER_", "WP_CLI_", "LUA_", "LUAROCKS_", "JULIA_", "GUILE_", "R_LIBS", "R_PROFILE",
  "R_ENVIRON",
  "R_TESTS", "RSTUDIO_", "TCL_", "TCLLIB", "EMACS", "OPAM", "OCAML", "CAML_", "GHC", "CABAL_",
  "HARNESS_", "OCTAVE_", "PLT", "BOOTSNAP_",
  // Java, its builds and its servers.
  "JAVA_", "_JAVA", "JDK_", "JVM_", "JPDA_", "MAVEN_", "MVN", "GRADLE_", "ORG_GRADLE_", "SBT_",
  "LOG4J_", "LOGBACK_", "CATALINA_", "HADOOP_", "HDFS_", "MAPRED_", "HIVE_", "HBASE_", "SPARK_",
  "PYSPARK_", "SPARKR_",
  "FLINK_ENV_", "GROOVY_", "CLOJURE_", "LEIN_", "JRUBY_", "SPRING_CONFIG_", "SPRING_MAIN_",
  "SPRING_CLOUD_BOOTSTRAP_",
  // .NET.
  "COMPLUS_", "CORECLR_", "COR_", "DOTNET_", "MONO_", "MSBUILD", "NUGET_",
  // Erlang, Elixir, Go, Rust and C; builds start compilers, runners and wrappers of these names.
  "ERL_", "ELIXIR_ERL", "MIX_", "REBAR", "CGO_", "CARGO_", "RUST_", "RUSTC", "RUSTDOC", "RUSTFLAGS",
  "RUSTUP_", "SCCACHE_", "CCACHE_", "DISTCC_", "ICECC_", "CMAKE_", "CTEST_", "NINJA_", "MESON_",
  "BAZEL_", "PKG_CONFIG", "QMAKE", "LIBTOOL", "AUTOM4TE", "ACLOCAL", "GCC_", "CLANG_", "CCC_",
  "DEB_", "DEBCONF_", "DEBUILD_", "DPKG_", "DH_", "RPM_", "SWIFT_DRIVER_", "SWIFTPM_",
  // Configuration that names code, and modules.
  "ANSIBLE_", "LIBMYSQL_PLUGIN", "TF_CLI_", "TERRAGRUNT_", "PACKER_", "VAGRANT_", "HELM_",
  "KUBECTL_", "BUILDKIT", "BUILDX_", "QEMU_", "CONTAINERS_",
  "DOCKER_CLI_", "LIBVIRT_", "VIRSH_", "HOMEBREW_", "AIRFLOW__",
  // Desktop libraries: modules that they load.
  "GTK_", "GTK2_", "GDK_PIXBUF", "GIO_", "GST_PLUGIN", "GST_REGISTRY", "SDL_", "QT_", "QML", "KDE_",
  "LIBGL_", "MESA_", "__EGL_", "ALSA_", "PIPEWIRE_", "VDPAU_", "LIBVA_", "VK_ADD_", "VK_DRIVER",
  "OCL_ICD_", "VK_ICD", "VK_INSTANCE_", "VK_LAYER", "VK_LOADER_", "FLATPAK_", "WINE",
  // Programs that start others.
  "FZF_", "SVN_", "HGRC", "CVS_", "SUDO_", "RIPGREP_", "TMUX", "NVIM", "VALGRIND_", "GROFF_",
  "MANROFF", "W3M",
  "TPM2TOOLS_", "TPM2OPENSSL_", "ASDF_", "MISE_", "NODENV_", "SDKMAN_", "OMPI_", "PMIX_", "GOPASS_",
  "PASSWORD_STORE_", "BZR_", "DARCS_", "ELINKS_", "NNN_", "TIGRC_",
]

/// Single names, grouped by the programs that read them.
let codeRunningNames: Set<String> = [
  // Where programs and configuration files are found.
  "HOME", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS",
  "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
  // The C library: converters and locales that it loads, files that it reads or writes.
  "GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH",
  "MALLOC_TRACE", "NIS_PATH", "NLSPATH", "PATH_LOCALE", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
  // Other libraries: modules that they load, and configuration that names some.
  "CUDA_INJECTION64_PATH", "JACK_DRIVER_DIR", "PGSSLKEY", "WIRESHARK_EXTCAP_DIR", "FONTCONFIG_FILE",
  "GS_LIB", "GSS_MECH_CONFIG", "HDF5_PLUGIN_PRELOAD",
  "KRB5_CONFIG", "KRB5_KTNAME", "LADSPA_PATH", "LDAPCONF", "LDAPRC", "MAGIC",
  "MAGICK_CODER_MODULE_PATH", "MAGICK_CONFIGURE_PATH", "ODBCINI", "ODBCINSTINI", "ODBCSYSINI",
  "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_ENGINES", "OPENSSL_MODULES", "SASL_CONF_PATH",
  "SASL_PATH", "SSLKEYLOGFILE", "TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TERMPATH",
  "XLOCALEDIR",
  // Shells.
  "BASHOPTS", "CDPATH", "ENV", "EXECIGNORE", "FCEDIT", "FIGNORE", "FPATH", "GLOBIGNORE", "HISTFILE",
  "IFS", "INPUTRC", "NULLCMD", "PROMPT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4",
  "PSMODULEPATH", "READNULLCMD", "RPROMPT", "SHELL", "SHELLOPTS", "TMPPREFIX", "ZDOTDIR", "ZSH",
  // Python, Ruby, PHP and Java programs: the application that they load, and options.
  "ASGI_APP", "HF_MODULES_CACHE", "LITESTAR_APP", "LOCUST_LOCUSTFILE", "NLTK_DATA", "QUART_APP",
  "RQ_CONNECTION_CLASS", "RQ_JOB_CLASS", "RQ_QUEUE_CLASS", "RQ_WORKER_CLASS",
  "CL_SOURCE_REGISTRY", "COMPOSER", "MPLBACKEND", "BLACK_CACHE_DIR", "CELERY_APP",
  "CLASSPATH", "DJANGO_SETTINGS_MODULE", "FLASK_APP", "FLASK_ENV_FILE",
  "JAVACMD",
  "MYPYPATH",
  "NUMBA_CACHE_DIR", "PHPRC", "PRYRC", "RAKEOPT", "SPEC_OPTS", "SPRING_APPLICATION_JSON",
  "TORCH_EXTENSIONS_DIR",
  "TRITON_CACHE_DIR", "VIRTUAL_ENV", "WORKON_HOME", "WSGI_APP",
  // Go, make and compilers.
  "AR", "ARFLAGS", "AS", "AUTOHEADER", "AUTOMAKE", "AUTOPOINT", "AWK", "CARGO", "CC", "CFLAGS",
  "COMPILER_PATH", "CONFIG_SHELL", "CONFIG_SITE",
  "CPATH",
  "CPLUS_INCLUDE_PATH", "CROSS_COMPILE", "CPP", "CPPFLAGS", "CO", "CTANGLE", "CUDACXX", "CWEAVE",
  "CXX", "CXXFLAGS",
  "DC", "DLLTOOL", "DMD", "C_INCLUDE_PATH",
  "DEPENDENCIES_OUTPUT", "DEVELOPER_DIR", "EGREP", "F77", "FGREP", "FC", "FFLAGS", "FORTRAN", "GET",
  "GNATMAKE",
  "GCCGO", "GNUMAKEFLAGS", "GOAUTH", "GOBIN", "GOPACKAGESDRIVER", "GREP", "GTKDOCIZE", "HOSTCC",
  "HOSTCXX", "INSTALL", "LLVM",
  "LN_S", "LOADLIBES", "MKDIR_P",
  "GOCACHE", "GOCACHEPROG", "GODEBUG", "GOENV", "GOFLAGS", "GOINSECURE", "GOMODCACHE", "GONOSUMDB",
  "GOPATH", "GOPRIVATE", "GOPROXY", "GOROOT", "GOSUMDB", "GOTOOLCHAIN", "GOTOOLDIR", "GOVCS",
  "GOWORK", "LD", "LDFLAGS", "LEX", "LIBRARY_PATH", "LINT", "M2C", "M4", "MAKE", "MAKEFILES",
  "MAKEINDEX", "MAKEINFO", "MAKEFLAGS",
  "MAKEOVERRIDES", "MFLAGS", "NM", "NVCC", "OBJC", "OBJCOPY", "OBJDUMP", "OUTPUT_OPTION", "PC",
  "RANLIB", "RM", "SDKROOT",
  "STACK_ROOT",
  "STACK_YAML", "SED", "STRIP", "TARGET_ARCH", "TARGET_MACH", "SUNPRO_DEPENDENCIES",
  "SWIFT_BACKTRACE", "TANGLE", "TEX", "TEXI2DVI",
  "TOOLCHAINS", "WEAVE", "WINDRES", "YACC",
  // Programs that other programs start, and options that can name one.
  "AT_SPI_BUS_ADDRESS", "AWKLIBPATH", "AWKPATH", "BIBTEX", "CHROME_DEVEL_SANDBOX", "CVSROOT",
  "DEBIAN_FRONTEND",
  "GITPERLLIB", "HG", "LATEX", "LUAINPUTS", "LUALATEX", "LUATEX", "PDFLATEX", "PDFTEX", "XELATEX",
  "XETEX",
  "BUILDAH_RUNTIME", "SE_CHROMEDRIVER", "SE_EDGEDRIVER", "SE_GECKODRIVER", "BC_ENV_ARGS",
  "BORG_PASSCOMMAND", "BORG_RSH", "BROWSER", "BZIP",
  "BZIP2", "DC_ENV_ARGS", "DIALOGRC", "DIFF", "DIFFPROG", "ED", "EDITOR", "ENSCRIPT", "EXINIT",
  "GREP_OPTIONS",
  "GVIMINIT", "GZIP", "HELIX_RUNTIME", "HGEDITOR", "HGMERGE", "INFOPATH",
  "KAKOUNE_RUNTIME", "LESS",
  "LESSCLOSE", "LESSECHO", "LESSEDIT", "LESSGLOBALTAGS", "LESSHISTFILE", "LESSKEY", "LESSKEYIN",
  "LESSKEY_CONTENT", "LESSKEY_SYSTEM",
  "LESSKEYIN_SYSTEM", "LESSMETACHARS", "LESSOPEN", "MAILCAPS", "MAILER", "MAILPATH", "MAILRC",
  "MANOPT", "MANPAGER", "MANPATH", "MANLESS", "MERGE", "MORE", "MOST_SWITCHES", "NMAPDIR",
  "OPENER",
  "MC_DATADIR",
  "P4CONFIG", "P4DIFF", "P4EDITOR", "P4ENVIRO", "P4MERGE", "PAGER", "PARALLEL",
  "RESTIC_PASSWORD_COMMAND", "RSYNC_CONNECT_PROG", "RSYNC_RSH", "SCREENRC", "SENDMAIL",
  "SHELL_ESCAPE", "SSH_ASKPASS",
  "SSH_ASKPASS_REQUIRE", "SSH_PKCS11_HELPER", "SSH_SK_HELPER", "SSH_SK_PROVIDER", "SYSSCREENRC",
  "TAPE", "TASKDATA", "TAR_OPTIONS", "TAR_RSH", "TERMCMD", "TEXEDIT", "TEXINPUTS", "TEXMFCNF",
  "TROFF", "UNZIP",
  "UNZIPOPT", "VIM", "VIMINIT", "VIMRUNTIME", "VISUAL", "WWWBROWSER", "XTERM", "XZ_DEFAULTS",
  "XZ_OPT", "ZIP", "ZIPINFO", "ZIPOPT",
  // Configuration that names commands to run.
  "APT_CONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR",
  "AZURE_EXTENSION_DIR", "BOTO_CONFIG", "CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "COMPOSE_ENV_FILES",
  "COMPOSE_FILE", "CURL_HOME", "DOCKER_CONFIG", "GNUPGHOME",
  "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "KREW_ROOT", "KUBECONFIG", "KUBE_EDITOR", "LYNX_CFG",
  "MYSQL_HOME", "NETRC", "NIX_CONFIG", "NIX_PATH", "NIX_REMOTE", "NIX_USER_CONF_FILES",
  "NOTMUCH_CONFIG", "PGOPTIONS", "PGSERVICEFILE", "PGSYSCONFDIR", "PDFVIEWER", "PRE_COMMIT_HOME",
  "PSQLRC",
  "REGISTRY_AUTH_FILE", "TF_DATA_DIR", "TF_ENCRYPTION", "TIMEWARRIORDB", "ZOOCFG",
  "TF_PLUGIN_CACHE_DIR", "WGETRC",
]

/// Names with such a prefix or ending that run no code, and that files of variables often have.
let ordinaryNames: Set<String> = [
  "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED",
  "PYTHONIOENCODING", "PYTHONUTF8", "PYTHON_VERSION", "NODE_ENV", "NODE_AUTH_TOKEN", "NODE_VERSION",
  "NODE_PORT", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_NO_WARNINGS",
  "YARN_NPM_AUTH_TOKEN", "DENO_DEPLOY_TOKEN", "CARGO_REGISTRY_TOKEN", "CARGO_TERM_COLOR",
  "RUST_LOG", "RUST_BACKTRACE", "GEM_HOST_API_KEY", "COMPOSER_AUTH", "UV_PUBLISH_TOKEN",
  "GIT_TOKEN", "GIT_USERNAME", "GIT_PASSWORD", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
  "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "DOTNET_RUNNING_IN_CONTAINER", "NUGET_API_KEY",
  "JAVA_VERSION", "RUBY_VERSION", "UVICORN_HOST", "UVICORN_PORT", "UVICORN_WORKERS",
  "UVICORN_LOG_LEVEL", "UVICORN_RELOAD", "UVICORN_ROOT_PATH",
  "DOTNET_ENVIRONMENT", "MIX_ENV", "JUPYTER_TOKEN", "FEATURE_FLAGS", "X_FRAME_OPTIONS", "MAIL_CC",
  "EMAIL_CC", "HOMEBREW_GITHUB_API_TOKEN", "LOG4J_FORMAT_MSG_NO_LOOKUPS",
  "AIRFLOW__CORE__EXECUTOR", "AIRFLOW__CORE__FERNET_KEY", "AIRFLOW__CORE__LOAD_EXAMPLES",
  "AIRFLOW__CORE__SQL_ALCHEMY_CONN", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
  "AIRFLOW__CELERY__BROKER_URL", "AIRFLOW__CELERY__RESULT_BACKEND",
  "AIRFLOW__WEBSERVER__SECRET_KEY", "AIRFLOW__SMTP__SMTP_PASSWORD",
]
