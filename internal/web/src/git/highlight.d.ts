// What we use of highlight.js. Its result as a tree is what lowlight, too, is
// built on; so no markup is made.

declare module 'highlight.js/lib/core' {
  interface Node {
    scope?: string
    children: (Node | string)[]
  }
  const hljs: {
    registerLanguage(name: string, define: unknown): void
    highlight(code: string, how: { language: string; ignoreIllegals: boolean }): { _emitter: { rootNode: Node } }
  }
  export default hljs
}

declare module 'highlight.js/lib/languages/*' {
  const define: unknown
  export default define
}
