import { isMac, paletteKeys } from '../words'
import { Dialog } from './dialog'

const keys: [string, string][] = [
  [paletteKeys, 'Jump to a session, or run any action'],
  ['Ctrl Shift O', 'Leave the terminal: the focus goes to the list of sessions'],
  ['Ctrl Shift E', 'Write a message in a text box, and send it in one go'],
  ['Ctrl Shift F', 'Search the terminal'],
  ['Ctrl Shift [ and ]', 'The session before, the next one'],
  ['Ctrl Shift C and V', 'Copy what is selected, paste'],
  ['?', 'This list, outside of a terminal'],
]

/** The keys of the page. All others are the program's while a terminal has the focus. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <form method="dialog">
        <p class="lead">While a terminal has the focus, every key is the program’s, Tab and Escape too. Only these are the page’s:</p>
        <table class="key-table">
          <tbody>{keys.map(([key, what]) => <tr key={key}><th scope="row"><kbd>{key}</kbd></th><td>{what}</td></tr>)}</tbody>
        </table>
        {isMac && <p class="hint">Ctrl is the control key, not ⌘.</p>}
        <p class="hint">By touch: one finger scrolls, two change the size of the text, and one that stays selects. The pen opens the text box.</p>
        <footer><button type="button" class="primary" autofocus onClick={onClose}>Close</button></footer>
      </form>
    </Dialog>
  )
}
