#if Etcd
  internal import Glibc
  internal import KistCore
  internal import Logging
  internal import NIOSSL

  /// The certificate and key of this machine, as their files were when they were last read.
  struct Certificates: Sendable {
    /// The time before the end of a certificate from which it is reported, in days.
    private static let daysOfWarning = 30
    private static let secondsOfDay = 86_400

    let files: CertificateFiles
    /// The identity and the time of change of each file.
    private var versions: [FileVersion]

    /// Reads the files; throws `unavailable` if one is missing or is not what it should be.
    init(_ files: CertificateFiles) throws(StorageError) {
      self.files = files
      versions = Self.versions(of: files)
      try Self.check(files)
    }

    /// Returns whether a file was replaced since the last call, and can be used.
    mutating func haveChanged(logger: Logger) -> Bool {
      let latest = Self.versions(of: files)
      guard latest != versions else { return false }
      do throws(StorageError) { try Self.check(files) } catch {
        // A program may be writing the files now. The old ones stay in use.
        logger.warning("\(error.message); the certificates read before stay in use")
        return false
      }
      versions = latest
      return true
    }

    /// Logs a warning if the certificate ends soon.
    func warnOfEnd(now: time_t, logger: Logger) {
      guard let end = try? NIOSSLCertificate.fromPEMFile(files.certificate).first?.notValidAfter
      else { return }
      let days = (end - now) / Self.secondsOfDay
      if end <= now {
        logger.error("the certificate has ended: etcd refuses new connections; replace the file")
      } else if days < Self.daysOfWarning {
        logger.warning("the certificate ends in \(days) days; replace the file before")
      }
    }

    private static func check(_ files: CertificateFiles) throws(StorageError) {
      for (path, option) in [(files.authority, "--ca"), (files.certificate, "--cert")] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty
        else {
          throw StorageError(
            .unavailable,
            "the file of \(option) is missing, cannot be read by this user, or has no certificate in PEM"
          )
        }
      }
      guard (try? NIOSSLPrivateKey(file: files.key, format: .pem)) != nil else {
        throw StorageError(
          .unavailable, "the file of --key is missing, or has no private key in PEM")
      }
    }

    private static func versions(of files: CertificateFiles) -> [FileVersion] {
      [files.authority, files.certificate, files.key].map { path in
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return FileVersion() }
        return FileVersion(
          inode: status.st_ino, seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
      }
    }
  }

  /// What changes when a file is replaced or written.
  private struct FileVersion: Hashable {
    var inode: ino_t = 0
    var seconds = 0
    var nanoseconds = 0
  }
#endif
