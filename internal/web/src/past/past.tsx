// A session's screen as it was, at a time that a slider chooses.

import { Terminal } from '@xterm/xterm'
import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { downloadRecording } from '../api'
import type { Session } from '../api'
import { bearer, withAccess } from '../auth'
import { send, textOf } from '../http'
import { isDark } from '../prefs'
import { report } from '../store'
import { dark, light } from '../term/theme'
import { Dialog } from '../ui/dialog'
import { visible } from '../words'

interface Screen {
  text: string
  cols: number
  rows: number
  note: string
}

const steps = 1000 // of the slider
const speeds = [1, 5, 20, 100]
const frame = 300 // milliseconds between two screens of a replay, at the least

interface Props {
  session: Session
  /** The offset to begin at; the slider takes over once it is moved. */
  place?: number
  onClose: () => void
}

export default function Past({ session, place, onClose }: Props) {
  // The record of a session whose workspace is deleted is not here: only the place is known.
  const from = session.created_at ? Date.parse(session.created_at) : NaN
  const [to] = useState(() => (session.exit ? Date.parse(session.exit.time) : Date.now()))
  const [at, setAt] = useState(to)
  const [speed, setSpeed] = useState(5)
  const [playing, setPlaying] = useState(false)
  const [screen, setScreen] = useState<Screen>()
  const [error, setError] = useState('')
  const [moved, setMoved] = useState(place === undefined)
  const wanted = useRef('')
  const now = useRef(at)
  const asking = useRef(false)
  now.current = at
  wanted.current = !moved ? String(place) : at < to ? new Date(at).toISOString() : ''

  // One question at a time; the latest time wins.
  const look = async () => {
    if (asking.current) return
    asking.current = true
    for (let asked: string | undefined; asked !== wanted.current;) {
      asked = wanted.current
      try {
        setScreen(await capture(session.id, asked))
        setError('')
      } catch (problem) {
        setError((problem as Error).message)
      }
    }
    asking.current = false
  }
  useEffect(() => void look(), [at, moved])

  useEffect(() => {
    if (!playing) return
    let before = performance.now()
    const timer = window.setInterval(() => {
      const tick = performance.now()
      const next = Math.min(now.current + (tick - before) * speed, to)
      before = tick
      setAt(next)
      if (next >= to) setPlaying(false)
    }, frame)
    return () => window.clearInterval(timer)
  }, [playing, speed])

  const known = !Number.isNaN(from)
  const move = (ms: number) => {
    setPlaying(false)
    setMoved(true)
    setAt(Math.min(Math.max(ms, from), to))
  }
  const play = () => {
    setMoved(true)
    if (!playing && at >= to) setAt(from)
    setPlaying(!playing)
  }
  return (
    <Dialog title={`The past of ${session.workspace_name}/${session.name}`} class="past" onClose={onClose}>
      <Shown screen={screen} />
      {error && <p class="problem" role="alert">{visible(error)}</p>}
      <p class="hint" role="status">{moved ? <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' })}</time> : 'When the line was printed last'}{screen?.note && ` · ${visible(screen.note)}`}</p>
      {known && (
        <input type="range" aria-label="When" min={0} max={steps} step={1} value={to > from ? ((at - from) / (to - from)) * steps : steps}
          aria-valuetext={new Date(at).toLocaleTimeString()} onInput={(e) => move(from + (Number(e.currentTarget.value) / steps) * (to - from))} />
      )}
      <div class="past-tools">
        {known && (
          <>
            <button class="quiet outlined" onClick={() => move(at - 10_000)}>−10 s</button>
            <button class="primary" onClick={play}>{playing ? 'Pause' : 'Play'}</button>
            <button class="quiet outlined" onClick={() => move(at + 10_000)}>+10 s</button>
            <label class="against"><span>Speed</span>
              <select value={speed} onChange={(e) => setSpeed(Number(e.currentTarget.value))}>{speeds.map((s) => <option key={s} value={s}>{s}×</option>)}</select>
            </label>
          </>
        )}
        <span class="grow" />
        <button class="quiet outlined" onClick={() => void downloadRecording(session.id).catch(report)}>Download recording</button>
      </div>
    </Dialog>
  )
}

/** The screen at a time or an offset, or the last one. */
async function capture(session: string, at: string): Promise<Screen> {
  return withAccess(async (token) => {
    const response = await send('GET', `/sessions/${session}/capture?format=ansi${at && `&at=${encodeURIComponent(at)}`}`, bearer({}, token))
    const header = (name: string) => response.headers.get(`Middleman-${name}`) ?? ''
    return { text: await textOf(response), cols: Number(header('Cols')) || 80, rows: Number(header('Rows')) || 24, note: header('Note') }
  })
}

/** A terminal that nobody types at, and whose links lead nowhere. */
function Shown({ screen }: { screen?: Screen }) {
  const host = useRef<HTMLDivElement>(null)
  const terminal = useRef<Terminal | null>(null)
  useLayoutEffect(() => {
    const t = new Terminal({
      allowProposedApi: true, disableStdin: true, convertEol: true, cursorInactiveStyle: 'none', scrollback: 0, fontSize: 12,
      linkHandler: { activate: () => {} }, theme: isDark() ? dark : light, minimumContrastRatio: isDark() ? 1 : 4.5,
    })
    t.loadAddon(new UnicodeGraphemesAddon())
    t.open(host.current!)
    Object.assign(host.current!, { terminal: t })
    terminal.current = t
    return () => t.dispose()
  }, [])
  useEffect(() => {
    if (!screen) return
    terminal.current!.reset()
    terminal.current!.resize(screen.cols, screen.rows)
    terminal.current!.write(screen.text.replace(/\n$/, ''))
  }, [screen])
  return <div class="past-screen" ref={host} role="img" aria-label="The screen at that time" />
}
