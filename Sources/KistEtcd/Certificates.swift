#if Etcd
  internal import Glibc
  internal import KistCore
  internal import KistSystem
  internal import Logging
  internal import NIOSSL

  /// The paths of the files for mutual TLS, in PEM.
  struct CertificateFiles: Sendable {
    /// The certificates of the authorities that sign the certificates of the nodes.
    var authority: String
    /// The certificate of this machine.
    var certificate: String
    /// The private key of this machine.
    var key: String
  }

  /// The contents of the files for mutual TLS, in PEM, which can be used together.
  ///
  /// Connections use these, not the files, which another program may be replacing.
  struct CertificateTexts: Sendable {
    let authority: [UInt8]
    let certificate: [UInt8]
    let key: [UInt8]

    /// Reads the files; throws `unavailable` if one is missing or is not what it should be.
    init(_ files: CertificateFiles) throws(StorageError) {
      authority = Self.bytes(at: files.authority)
      certificate = Self.bytes(at: files.certificate)
      key = Self.bytes(at: files.key)
      let authorities = try Self.certificates(in: authority, of: "--ca")
      let own = try Self.certificates(in: certificate, of: "--cert")
      guard let key = try? NIOSSLPrivateKey(bytes: key, format: .pem) else {
        throw StorageError(
          .unavailable,
          "the file of --key is missing, cannot be read by this user, or has no private key in PEM")
      }
      var pair = TLSConfiguration.makeClientConfiguration()
      pair.trustRoots = .certificates(authorities)
      pair.certificateChain = own.map { .certificate($0) }
      pair.privateKey = .privateKey(key)
      guard (try? NIOSSLContext(configuration: pair)) != nil else {
        throw StorageError(
          .unavailable, "the certificate of --cert and the key of --key do not belong together")
      }
    }

    /// Returns the bytes of a file, at most 1 MiB; none if it cannot be read.
    private static func bytes(at path: String) -> [UInt8] {
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return [] }
      defer { close(descriptor) }
      return KistSystem.bytes(of: descriptor, 0..<1 << 20)
    }

    private static func certificates(
      in bytes: [UInt8], of option: String
    ) throws(StorageError) -> [NIOSSLCertificate] {
      if let found = try? NIOSSLCertificate.fromPEMBytes(bytes), !found.isEmpty { return found }
      throw StorageError(
        .unavailable,
        "the file of \(option) is missing, cannot be read by this user, or has no certificate in PEM"
      )
    }
  }

  /// The certificates and the key of this machine, as the files were when they last belonged together.
  struct Certificates: Sendable {
    /// The time before the end of a certificate from which it is reported, in days.
    private static let daysOfWarning = 30
    private static let secondsOfDay = 86_400

    private let files: CertificateFiles
    private(set) var texts: CertificateTexts
    /// The identity and the time of change of each file.
    private var versions: [FileVersion]
    /// The files that were refused last, and why.
    private var refused: (versions: [FileVersion], reason: String)?

    /// Reads the files; throws `unavailable` if one is missing or is not what it should be.
    init(_ files: CertificateFiles) throws(StorageError) {
      self.files = files
      versions = Self.versions(of: files)
      texts = try CertificateTexts(files)
    }

    /// Reads the files again if one was replaced; returns whether they can be used.
    mutating func haveChanged(logger: Logger) -> Bool {
      let latest = Self.versions(of: files)
      guard latest != versions else { return false }
      do throws(StorageError) { texts = try CertificateTexts(files) } catch {
        // A program may be writing the files now.
        if refused?.versions != latest || refused?.reason != error.message {
          logger.warning("\(error.message); the certificates read before stay in use")
        }
        refused = (latest, error.message)
        return false
      }
      versions = latest
      return true
    }

    /// Returns a warning if the certificate has ended or ends soon.
    func warnings(now: time_t) -> [String] {
      guard let end = try? NIOSSLCertificate.fromPEMBytes(texts.certificate).first?.notValidAfter
      else { return [] }
      if end <= now {
        return ["the certificate of this machine has ended, so new connections fail: replace it"]
      }
      let days = (end - now - 1) / Self.secondsOfDay + 1
      guard days <= Self.daysOfWarning else { return [] }
      let time = days == 1 ? "a day" : "\(days) days"
      return ["the certificate of this machine ends within \(time): replace it"]
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
