import type { ITheme } from '@xterm/xterm'

/** Sixteen colours that keep apart and stay readable on their background. */
export const dark: ITheme = {
  background: '#101216', foreground: '#d7dae3', cursor: '#8ea2ff', cursorAccent: '#101216',
  selectionBackground: '#34406b', selectionInactiveBackground: '#2a3048',
  black: '#252a35', red: '#f2777f', green: '#8fd19e', yellow: '#e9c46a',
  blue: '#82a7ff', magenta: '#c99bf2', cyan: '#72d0d6', white: '#c8ccd8',
  brightBlack: '#697185', brightRed: '#ff9a9f', brightGreen: '#aee7b9', brightYellow: '#ffdf8f',
  brightBlue: '#a8c1ff', brightMagenta: '#deb9ff', brightCyan: '#9be7eb', brightWhite: '#f3f5fa',
}

export const light: ITheme = {
  background: '#ffffff', foreground: '#23262f', cursor: '#3d55d6', cursorAccent: '#ffffff',
  selectionBackground: '#cdd8ff', selectionInactiveBackground: '#e3e7f3',
  black: '#23262f', red: '#c4313e', green: '#217a3c', yellow: '#8f6400',
  blue: '#2f56c9', magenta: '#8d3fbd', cyan: '#0f747b', white: '#c3c8d4',
  brightBlack: '#6a7182', brightRed: '#dc4a56', brightGreen: '#2d914b', brightYellow: '#a97a10',
  brightBlue: '#4a70e0', brightMagenta: '#a55bd3', brightCyan: '#1b8d95', brightWhite: '#4b5160',
}
