internal import ArgumentParser

/// What a person may be asked.
package struct PromptOptions: ParsableArguments {
  @Flag(help: "Do not offer to unlock a storage that is locked.")
  package var noPrompt = false

  package init() {}
}
