// A terminal answers questions that it finds in its input: what are you, where
// is the cursor, which colour is the background. While output of the past is
// drawn again those answers must not be typed: the program that asked has long
// been answered, and whatever runs now would read garbage.

import type { IDisposable, Terminal } from '@xterm/xterm'

export class ReplayGuard {
  /** True while the parser is inside of replayed bytes. */
  active = false
  /** True where the program's questions are answered by what hosts it. */
  hosted = false
  private readonly handlers: IDisposable[]

  constructor(terminal: Terminal) {
    const parser = terminal.parser
    const swallow = () => this.asks()
    this.handlers = [
      parser.registerCsiHandler({ final: 'c' }, swallow), // DA1
      parser.registerCsiHandler({ prefix: '>', final: 'c' }, swallow), // DA2
      parser.registerCsiHandler({ prefix: '=', final: 'c' }, swallow), // DA3
      parser.registerCsiHandler({ final: 'n' }, swallow), // DSR
      parser.registerCsiHandler({ prefix: '?', final: 'n' }, swallow), // DECDSR
      parser.registerCsiHandler({ prefix: '>', final: 'q' }, swallow), // XTVERSION
      parser.registerCsiHandler({ prefix: '?', final: 'u' }, swallow), // kitty keyboard
      parser.registerCsiHandler({ intermediates: '$', final: 'p' }, swallow), // DECRQM
      parser.registerCsiHandler({ prefix: '?', intermediates: '$', final: 'p' }, swallow),
      parser.registerCsiHandler({ final: 't' }, (params) => this.asks() && isReport(params[0])), // XTWINOPS
      parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow), // DECRQSS
      parser.registerDcsHandler({ intermediates: '+', final: 'q' }, swallow), // XTGETTCAP
      ...[4, 5, 10, 11, 12, 13, 14, 17, 19].map((code) =>
        parser.registerOscHandler(code, (data) => this.asks() && data.split(';').includes('?'))), // colours
    ]
  }

  /** Whether what is asked now is answered elsewhere, or was. */
  private asks(): boolean {
    return this.active || this.hosted
  }

  /** Whether data, which the terminal wants to send, is no more than an answer to the past. */
  refuses(data: string): boolean {
    return this.active && (data === '\x1b[I' || data === '\x1b[O')
  }

  dispose(): void {
    for (const handler of this.handlers) handler.dispose()
  }
}

/** Window operations that answer, of XTWINOPS. */
function isReport(operation: number | number[]): boolean {
  return typeof operation === 'number' && [11, 13, 14, 15, 16, 18, 19, 20, 21].includes(operation)
}
