internal import CSystemd

/// Returns 16 bytes that are the same at each start on this machine, and differ from machine to
/// machine; `nil` if the machine has no identifier.
package func machineIdentifier() -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 16)
  return unsafe kist_machine_identifier(&bytes) != 0 ? bytes : nil
}
