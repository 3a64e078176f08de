import '@xterm/xterm/css/xterm.css'
import './style.css'
import { render } from 'preact'
import { takeSecret } from './auth'
import { start } from './login'
import { App } from './ui/app'

const secret = takeSecret() // before anything else sees the address
render(<App />, document.getElementById('app')!)
void start(secret)
