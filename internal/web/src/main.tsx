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
import { takeSecret } from './auth'
import { start } from './login'
import { App } from './ui/app'

const secret = takeSecret() // before anything else sees the address
render(<App />, document.getElementById('app')!)
void start(secret)
