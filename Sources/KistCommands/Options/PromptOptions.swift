internal import ArgumentParser

/// What a person may be asked.
package struct PromptOptions: ParsableArguments {
  @Flag(help: "Ask nobody to unlock what is locked.")
  package var noPrompt = false

  package init() {}
}
