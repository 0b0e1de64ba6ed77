#if Etcd
  internal import GRPCCore
  internal import KistCluster
  internal import KistCore

  /// Why a call to etcd failed.
  struct CallFailure: Error {
    /// What to answer.
    var error: StorageError
    /// Whether etcd may have made the change, or may still make it.
    var mayBeMade: Bool
    /// Whether another node may answer.
    var concernsNode: Bool
    /// Whether etcd has discarded the history that was requested.
    var isCompacted = false
    /// Whether the reply may exceed the limit of a message, so that a request for less is worth a try.
    var isTooLarge = false
    /// The text of the error, for the log.
    var reason: String

    init(
      error: StorageError, mayBeMade: Bool, concernsNode: Bool, reason: (any Error)? = nil
    ) {
      (self.error, self.mayBeMade, self.concernsNode) = (error, mayBeMade, concernsNode)
      self.reason =
        reason.map { visible(String("\($0)".unicodeScalars.prefix(300))) } ?? error.message
    }

    static func noTime(wasSent: Bool) -> CallFailure {
      CallFailure(
        error: StorageError(
          .unavailable, "etcd did not answer in time",
          hint: "see the log of kist-etcd, and the state of the nodes"),
        mayBeMade: wasSent, concernsNode: true)
    }
  }

  extension CallFailure {
    /// Interprets the error of a call.
    ///
    /// The texts are etcd's own (api/v3rpc/rpctypes/error.go), which are the same in 3.4, 3.5 and 3.6.
    ///
    /// - Parameter mayExceedLimit: Whether the reply may exceed the limit of a message. gRPC Swift
    ///   reports such a reply as an internal error, as it does other faults of a node.
    init(_ error: any Error, wasSent: Bool, mayExceedLimit: Bool = false) {
      guard let error = error as? RPCError else {
        self = .noTime(wasSent: wasSent)
        if let error = error as? StorageError { (self.error, reason) = (error, error.message) }
        return
      }
      let text = error.message
      switch error.code {
      case .outOfRange where text.contains("compacted"):
        self = .refused(.unavailable, "etcd has discarded the history at this position")
        isCompacted = true
      case .invalidArgument where text.contains("too large"):
        self = .refused(
          .tooLarge, "etcd refuses a request of this size",
          hint: "etcd's default for --max-request-bytes, 1.5 MiB, is enough")
      case .resourceExhausted where text.contains("space exceeded"):
        self = .refused(
          .full, "etcd has no space left: its quota is used up",
          hint: "run `etcdctl compaction REVISION`, `etcdctl defrag` for each node, and "
            + "`etcdctl alarm disarm`")
      case .resourceExhausted where text.contains("too many requests"):
        self = .refused(.busy, "etcd has too many requests", hint: "try again later")
      case .internalError where mayExceedLimit:
        self = .refused(
          .tooLarge, "the reply of etcd may exceed \(NodeClient.mostReplyBytes) bytes")
        isTooLarge = true
      case .permissionDenied, .unauthenticated:
        self = .refused(
          .denied, "etcd does not allow the request",
          hint: "the user that the certificate names needs read and write access to the prefix")
      case .invalidArgument, .outOfRange, .failedPrecondition, .unimplemented:
        self = .refused(.unavailable, "etcd refused the request: \(error.code)")
      default:
        // The node refused the request before it passed it to the others.
        let isRefused =
          text.contains("not supported for learner") || text == "etcdserver: no leader"
        self.init(
          error: StorageError(
            .unavailable, "etcd is unavailable",
            hint: "see the log of kist-etcd, and the state of the nodes"),
          mayBeMade: wasSent && !isRefused, concernsNode: true,
          reason: error)
      }
    }

    private static func refused(
      _ code: StorageError.Code, _ message: String, hint: String? = nil
    ) -> CallFailure {
      CallFailure(
        error: StorageError(code, message, hint: hint), mayBeMade: false, concernsNode: false)
    }

    /// The error for a commit, with its outcome.
    var ofCommit: StorageError {
      guard !mayBeMade else { return .noAnswer }
      return error.withOutcome(.unchanged)
    }
  }
#endif
