import '@xterm/xterm/css/xterm.css'
import './style.css'
import { render } from 'preact'
import { follow } from './events'
import { App } from './ui/app'

render(<App />, document.getElementById('app')!)
follow()
