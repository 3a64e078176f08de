const ESC = 0x1b
const K = 0x6b
const OSC_TITLE = [0x5d, 0x32, 0x3b] // ]2;

/**
 * Makes titles of screen's and tmux's (ESC k), whose text xterm.js would print,
 * those of xterm's (OSC 2). Both end with ST. Output may be cut anywhere.
 */
export class ScreenTitles {
  private escaped = false // the last byte was ESC

  translate(bytes: Uint8Array): Uint8Array {
    const at: number[] = []
    for (let i = -1; i < bytes.length - 1; i++) {
      if (bytes[i + 1] === K && (i < 0 ? this.escaped : bytes[i] === ESC)) at.push(i + 1)
    }
    if (bytes.length > 0) this.escaped = bytes[bytes.length - 1] === ESC
    if (at.length === 0) return bytes
    const out: number[] = []
    let from = 0
    for (const k of at) {
      out.push(...bytes.subarray(from, k), ...OSC_TITLE)
      from = k + 1
    }
    out.push(...bytes.subarray(from))
    return Uint8Array.from(out)
  }
}
