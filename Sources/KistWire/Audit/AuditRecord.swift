package import KistCore

/// One line of the audit log: a request, or the number of requests that were not written.
package struct AuditRecord: Sendable, Equatable {
  /// The time when the request came.
  package var moment: Moment
  package var event: Event

  package enum Event: Sendable, Equatable {
    case request(AuditedRequest)
    /// The number of requests before this line that were not written.
    case lost(Int)
  }

  /// A moment to the millisecond.
  package struct Moment: Sendable, Equatable {
    package var second: Timestamp
    /// 0 to 999.
    package var milliseconds: Int

    package init(second: Timestamp, milliseconds: Int) {
      self.second = second
      self.milliseconds = milliseconds
    }
  }

  package init(moment: Moment, event: Event) {
    self.moment = moment
    self.event = event
  }
}

/// A request, its client, and its outcome.
package struct AuditedRequest: Sendable, Equatable {
  /// The operation; `nil` if it could not be read or does not exist.
  package var operation: String?
  /// The error code; `nil` if the request was carried out.
  package var failure: StorageError.Code?
  /// The duration of the request.
  package var microseconds: Int
  package var peer: AuditedPeer
  package var names: Names?

  /// The names in the request, as far as the reader may see them.
  package enum Names: Sendable, Equatable {
    case open(RequestedNames)
    /// The names cannot be opened, for a reason such as `locked`.
    case sealed(StorageError.Code)
  }

  package init(
    operation: String?, failure: StorageError.Code?, microseconds: Int, peer: AuditedPeer,
    names: Names? = nil
  ) {
    self.operation = operation
    self.failure = failure
    self.microseconds = microseconds
    self.peer = peer
    self.names = names
  }
}

/// The process that a request came from.
package struct AuditedPeer: Sendable, Equatable {
  package var pid: Int
  package var uid: Int
  /// The systemd unit that the process ran in.
  package var unit: String?
  /// The name that the process gave itself.
  package var claims: String?
  /// How the unit and the name were found.
  package var evidence: Evidence

  package enum Evidence: String, Sendable {
    /// By the pid, and the kernel confirmed that the process was still the same.
    case pidfd
    /// By the pid, which another process may have had by then.
    case pid
    /// Not found: the process had ended.
    case gone
  }

  package init(pid: Int, uid: Int, unit: String?, claims: String?, evidence: Evidence) {
    self.pid = pid
    self.uid = uid
    self.unit = unit
    self.claims = claims
    self.evidence = evidence
  }
}
