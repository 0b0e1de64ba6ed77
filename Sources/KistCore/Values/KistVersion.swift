/// The version of kistd and kist, which are released together.
package enum KistVersion {
  package static let current = "0.2.0"
}
