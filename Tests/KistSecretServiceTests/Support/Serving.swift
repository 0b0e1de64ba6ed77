#if SecretService
  import Foundation
  import KistBus
  import KistCore
  import KistKeyrings
  import KistSecretService
  import KistSecretServiceProgram
  import KistSystem
  import KistTesting
  import Synchronization
  import Testing

  extension Trait where Self == ConditionTrait {
    /// Skips a test on a machine without a bus; in continuous integration it fails instead.
    static var needsBus: Self {
      .needs("dbus-daemon", KeyringPart.missingPackages(for: [.dbusDaemon, .gdbus]).isEmpty)
    }
    /// Skips a test on a machine without pinentry and a virtual screen for it.
    static var needsPinentry: Self {
      .needs(
        "pinentry",
        KeyringPart.missingPackages(for: [.pinentry, .python, .xdotool, .xvfb]).isEmpty)
    }
    /// Skips a test on a machine without the prompter of GNOME and a virtual screen for it.
    static var needsPrompter: Self {
      .needs("gcr", KeyringPart.missingPackages(for: [.prompter, .xdotool, .xvfb]).isEmpty)
    }
    static var needsPortal: Self {
      let packages = KeyringPart.missingPackages(
        for: [.dbusDaemon, .gdbus, .desktopPortal, .python])
      return .needs(
        "the Debian packages \(packages.joined(separator: ", ")), to run xdg-desktop-portal",
        packages.isEmpty)
    }
    static var needsPython: Self {
      .needs("python3", KeyringPart.missingPackages(for: [.python]).isEmpty)
    }
    static var needsSecretTool: Self {
      .needs("secret-tool", KeyringPart.missingPackages(for: [.secretTool]).isEmpty)
    }
  }

  /// Why a service ended.
  final class End: Sendable {
    private let state = Mutex<[StorageError?]>([])
    var reasons: [StorageError?] { state.withLock { $0 } }
    func add(_ reason: StorageError?) { state.withLock { $0.append(reason) } }

    private let ofBus = Mutex<[BusError]>([])
    /// The errors with which the connection to the bus ended.
    var busErrors: [BusError] { ofBus.withLock { $0 } }
    func add(_ error: BusError) { ofBus.withLock { $0.append(error) } }
  }

  extension SecretService.Functions {
    init(_ storage: OpenStorage, asking: Asking = .nobody) {
      self.init(
        storage: storage.credentials, access: storage.access, watch: storage.watch, asking: asking)
    }
  }

  /// Starts a service in this process on a bus.
  func startService(
    on address: String, idleExit: Duration? = nil,
    _ functions: @escaping @Sendable (Bus) -> SecretService.Functions
  ) -> End {
    let end = End()
    startThread {
      do {
        let bus = try Bus(address: address)
        let error = try serveSecretService(
          on: bus, functions(bus), machine: Array("a test machine".utf8), idleExit: idleExit,
          end: { end.add($0) })
        end.add(error)
      } catch { Issue.record(error) }
    }
    return end
  }

  func startService(
    _ functions: SecretService.Functions, on address: String, idleExit: Duration? = nil
  ) -> End { startService(on: address, idleExit: idleExit) { _ in functions } }

  /// Runs a test with a program on a bus on which a service runs; if the test throws and the service has
  /// ended, reports why.
  func withService<Result>(
    _ functions: SecretService.Functions = .init(.inMemory()),
    _ body: (BusClient, PrivateBus) async throws -> Result
  ) async throws -> Result {
    try await withPrivateBus { bus in
      let end = startService(functions, on: bus.address)
      do {
        try await poll("the service has its name") { try await bus.hasProvider() }
        return try await body(try await BusClient.connect(to: bus.address), bus)
      } catch {
        for reason in end.reasons {
          Issue.record("the service ended: \(String(describing: reason))")
        }
        for reason in end.busErrors { Issue.record("its connection ended: \(reason)") }
        throw error
      }
    }
  }

  /// Checks the name of the error that a call throws.
  func expectError(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
  ) async {
    let error = await #expect(throws: BusError.self, sourceLocation: sourceLocation) {
      try await body()
    }
    #expect(error?.name == name, sourceLocation: sourceLocation)
  }

  let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
  let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
  let noSession = "org.freedesktop.Secret.Error.NoSession"
  let noSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
  let isLocked = "org.freedesktop.Secret.Error.IsLocked"
#endif
