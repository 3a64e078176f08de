import '@xterm/xterm/css/xterm.css'
import './style/base.css'
import './style/sidebar.css'
import './style/workspace.css'
import './style/terminal.css'
import './style/pages.css'
import './style/dialog.css'
import './style/changes.css'
import './style/phone.css'
import { render } from 'preact'
import './trusted' // before anything else can make a policy of its name
import { takeSecret } from './auth'
import { start } from './login'
import { takeClicks } from './notify'
import { takeShare } from './share'
import { App } from './ui/app'
import { Shared } from './ui/shared'

const root = document.getElementById('app')!
const shared = takeShare() // before anything else sees the address
const secret = takeSecret()
if (shared) render(<Shared id={shared} />, root)
else {
  takeClicks()
  render(<App />, root)
  void start(secret)
}
