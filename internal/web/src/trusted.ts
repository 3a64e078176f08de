// The one text that becomes the address of a script: that of our service worker.
// Nobody else can make such a text, because the page's policy allows this name once.

const address = '/sw.js'

interface Factory {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(text: string): unknown }
}

const factory = (window as { trustedTypes?: Factory }).trustedTypes

export const workerAddress = (factory?.createPolicy('middleman', { createScriptURL: () => address }).createScriptURL('') ?? address) as string
