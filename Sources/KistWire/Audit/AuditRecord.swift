package import KistCore

/// One line of the audit log: a request, or how many were not written.
package struct AuditRecord: Sendable, Equatable {
  /// When the request came.
  package var moment: Moment
  package var event: Event

  package enum Event: Sendable, Equatable {
    case request(AuditedRequest)
    /// So many requests before this line were not written.
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

/// A request, who made it, and what became of it.
package struct AuditedRequest: Sendable, Equatable {
  /// The operation; `nil` where it could not be read, or there is none of that name.
  package var operation: String?
  /// Why it was refused; `nil` where it was carried out.
  package var failure: StorageError.Code?
  /// How long it took.
  package var microseconds: Int
  package var peer: AuditedPeer
  package var names: Names?

  /// What the request names, as far as the reader may know.
  package enum Names: Sendable, Equatable {
    case open(RequestedNames)
    /// It cannot be opened, for a reason such as `locked`.
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
  /// The unit of systemd that it ran in.
  package var unit: String?
  /// The name that it gave itself.
  package var claims: String?
  /// How the unit and the name were found.
  package var evidence: Evidence

  package enum Evidence: String, Sendable {
    /// By its pid, and the kernel told that it still was that process.
    case pidfd
    /// By its pid, which another process may have had by then.
    case pid
    /// Not at all: it had ended.
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
