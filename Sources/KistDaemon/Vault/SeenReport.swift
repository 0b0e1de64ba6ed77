internal import KistClient
internal import KistCluster
internal import KistCore
internal import KistJSON
internal import KistReplica
internal import KistShared

/// Which machines of a vault have the newest value of a credential.
struct SeenReport {
  private let summary: CredentialSummary
  private let machines: [(report: SharedVault.Report, isThis: Bool)]

  /// Asks the running kistd for the newest value, and the cluster for the reports of the machines.
  init(
    of key: CredentialKey, note: [UInt8], _ options: Options, _ environment: (String) -> String?
  ) async throws(StorageError) {
    let found = try await RunningVault(options, environment).credentials.find(
      CredentialQuery(service: key.service, account: key.account, limit: 1))
    guard let summary = found.credentials.first else {
      var error = StorageError.notFound
      if key.account.isEmpty { error.hint = "name the account after the service, if it has one" }
      throw error
    }
    let replica = try ReplicaOptions(machineKey: options.machineKey)
    let reports = try await SharedVault.reports(
      after: note, on: try options.cluster(environment), replica)
    self.summary = summary
    machines = reports.map { ($0, isThis: $0.machine.id == replica.machine.id) }
  }

  private func state(_ report: SharedVault.Report, isThis: Bool) -> String {
    if isThis || report.has(summary.revision) { return "newest" }
    return switch report.state {
    case .nothing: "none"
    case .seen: "older"
    case .refused: "refused"
    }
  }

  private var countOfNewest: Int { machines.count { state($0, isThis: $1) == "newest" } }

  var lines: [String] {
    [
      "\(CredentialReference(summary.key)): \(countOfNewest) of \(machines.count) machines have the "
        + "newest value"
    ]
      + machines.map { report, isThis in
        let machine = report.machine
        let line = "\(machine.id) \(state(report, isThis: isThis)) \(machine.name)"
        if isThis { return line + " (this machine)" }
        return switch report.state {
        case .nothing: line + " (has reported nothing)"
        case .seen(_, let time): line + " (reported \(time))"
        case .refused(let error): line + " (\(error.message))"
        }
      }
  }

  /// The report for a program: one object on one line.
  var json: Secret {
    JSONWriter.object { writer in
      writer.member("service", summary.key.service)
      writer.member("account", summary.key.account)
      writer.member("revision", summary.revision.rawValue)
      writer.member("complete", countOfNewest == machines.count)
      writer.member("machines", arrayOf: machines) { element, writer in
        let (report, isThis) = element
        writer.braced { writer in
          writer.member("id", report.machine.id.description)
          writer.member("name", report.machine.name)
          writer.member("state", state(report, isThis: isThis))
          switch report.state {
          case .nothing: break
          case .seen(_, let time): writer.member("reportedAt", time.description)
          case .refused(let error): writer.member("problem", error.message)
          }
        }
      }
    }
  }
}
