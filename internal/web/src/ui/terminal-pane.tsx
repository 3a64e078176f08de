import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Session } from '../api'
import { whenLive } from '../events'
import { compose, isComposing } from '../composing'
import { prefs, setPrefs } from '../prefs'
import { isLive, toast, useStore } from '../store'
import type { Delivery } from '../term/delivery'
import type { Phase } from '../term/link'
import { copy } from '../term/view'
import type { TerminalView } from '../term/view'
import { viewOf } from '../term/views'
import { exitWords, plural, sinceWords, stateWords, visible, writerWords } from '../words'
import { Composer } from './composer'
import { KeyRow } from './key-row'
import { Question } from './question'
import { SearchBar } from './search-bar'
import { canResume, resume } from './session-actions'
import { closeSession } from './session-dialogs'

/** The terminal of one session, with what has to be said about it; the active one of several has the focus and the keys. */
export function TerminalPane({ session, active }: { session: Session; active: boolean }) {
  const host = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const [searching, setSearching] = useState(false)
  const view = viewOf(session.id)

  useEffect(() => {
    const leave = view.show(host.current!, () => redraw(undefined as never))
    const retry = () => document.visibilityState === 'visible' && view.link.retryNow()
    const stop = whenLive(retry)
    window.addEventListener('online', retry)
    return () => {
      stop()
      window.removeEventListener('online', retry)
      leave()
    }
  }, [session.id])

  useEffect(() => { if (active) view.focus() }, [session.id, active])

  useEffect(() => {
    if (!active) return
    const onKey = (event: KeyboardEvent) => {
      if (!event.ctrlKey || !event.shiftKey) return
      if (event.code === 'KeyF') setSearching(true)
      else if (event.code === 'KeyE') compose(session.id)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [session.id, active])

  useStore()
  const phase = view.link.phase
  useWhenFree(view, session)
  return (
    <section class="pane" role="tabpanel" aria-label={`Terminal of ${session.name}`}>
      {!prefs.screenReader && ( // what needs it finds it first, and no page can find out
        <button class="quiet outlined for-readers" onClick={() => { setPrefs({ screenReader: true }); view.focus() }}>Let a screen reader read terminals</button>
      )}
      <div class={`screen ${view.link.watching ? 'watching' : ''}`} ref={host} data-phase={phase.is} />
      {searching && <SearchBar view={view} onClose={() => { setSearching(false); view.focus() }} />}
      {view.wanted !== undefined && <Wanted session={session} view={view} text={view.wanted} />}
      <Notice session={session} view={view} phase={phase} />
      {view.selected && <Selected view={view} />}
      {phase.is === 'attached' && <Question session={session} view={view} />}
      {isComposing(session.id) && isLive(session) && <Composer session={session} view={view} />}
      {active && <KeyRow view={view} session={session.id} />}
    </section>
  )
}

const freeFor = 300 // ms before it is asked again: what is told of the session and what it answers come on two ways

/** Joins once the writer that was in the way has left: often this very page, before it was loaded again. */
function useWhenFree(view: TerminalView, session: Session): void {
  const phase = view.link.phase
  const free = phase.is === 'busy' && !session.writer && isLive(session)
  useEffect(() => {
    if (!free) return
    let timer: number | undefined
    const join = () => {
      window.clearTimeout(timer)
      if (document.visibilityState === 'visible') timer = window.setTimeout(() => view.link.connect(), freeFor)
    }
    join()
    document.addEventListener('visibilitychange', join)
    return () => {
      window.clearTimeout(timer)
      document.removeEventListener('visibilitychange', join)
    }
  }, [free, phase])
}

function Notice({ session, view, phase }: { session: Session; view: TerminalView; phase: Phase }) {
  switch (phase.is) {
    case 'disconnected':
      return <Banner tone="unknown" spin><span>{phase.unanswered
        ? 'The session does not answer; its program may still be running. Trying again…'
        : 'Disconnected from the server. Sessions do not need it, but whether they run is not known until it answers. Reconnecting…'} {unsentWords(view)}</span>
        <button class="quiet outlined" onClick={() => view.link.retryNow()}>Now</button></Banner>
    case 'watching':
      return <Banner tone="busy">Watching{phase.writer ? `; ${writerWords(phase.writer)} types here` : ''}
        <button class="quiet outlined" onClick={() => takeOver(view)}>Take over</button></Banner>
    case 'refused':
      return <Banner tone="bad">{isLive(session) ? phase.message : stateWords(session)}
        <ResumeButton session={session} />
        <button class="quiet outlined" onClick={() => view.link.connect()}>Try again</button></Banner>
    case 'exited':
      return <Banner tone={phase.exit.code === 0 ? 'done' : 'bad'}><span class="exit">{exitWords(phase.exit)}</span>
        <ResumeButton session={session} />
        <button class="quiet outlined" onClick={() => closeSession(session)}>Remove</button></Banner>
    case 'busy':
      return <Choice view={view} title="Somebody else is typing here"
        text={`${capital(writerWords(phase.writer))} is attached${sinceWords(phase.writer)}.`} take="Take over" />
    case 'displaced':
      return <Choice view={view} title={phase.reason === 'takeover' ? 'Taken over' : 'Detached'}
        text={phase.reason === 'takeover'
          ? `${capital(writerWords(phase.writer ?? session.writer))} types here now. The program did not notice.`
          : 'The server closed this connection. The program did not notice.'} take="Take it back" />
  }
  if (view.link.holds) return <Missing view={view} />
  if (view.lagging) return <Banner tone="unknown">Lagging: there was too much output to show, so this view skips to the present screen.</Banner>
  if (view.progress !== undefined) return <div class="progress" role="progressbar" aria-valuenow={view.progress}><i style={{ width: `${view.progress}%` }} /></div>
  return null
}

/** Keys are missing in what was typed: nothing more is sent until the user says so, with a key that goes on with no line. */
function Missing({ view }: { view: TerminalView }) {
  return (
    <div class="banner" role="alert"><i class="dot needs" />
      <span>{missingWords(view.link.delivery)} Press Esc or click to go on.</span>
      <button class="primary" onClick={() => { view.link.goOn(); view.focus() }}>Go on</button>
    </div>
  )
}

function missingWords({ missed, doubtful }: Delivery): string {
  const were = (n: number) => `${plural(n, 'key')} ${n === 1 ? 'was' : 'were'}`
  if (missed === 0) return `Connection lost while you typed: the last ${plural(doubtful, 'key')} may not have arrived.`
  return `Not connected while you typed: ${were(missed)} not sent${doubtful ? `, and ${plural(doubtful, 'key')} before may not have arrived` : ''}.`
}

function unsentWords(view: TerminalView): string {
  if (view.link.watching) return ''
  const { missed } = view.link.delivery
  return `What you type is not sent${missed > 0 ? `: ${plural(missed, 'key')} so far` : ''}.`
}

const ResumeButton = ({ session }: { session: Session }) =>
  canResume(session) ? <button class="quiet outlined" onClick={() => resume(session)}>Resume</button> : null

const shownWanted = 120

/** Asks whether the program gets what it wanted the clipboard to be. Nothing has the focus, so that no key that was meant for the program answers. */
function Wanted({ session, view, text }: { session: Session; view: TerminalView; text: string }) {
  const name = `${session.workspace_name}/${session.name}`
  const characters = [...text]
  const begins = visible(characters.slice(0, shownWanted).join('')) + (characters.length > shownWanted ? '…' : '')
  return (
    <div class="card wanted" role="dialog" aria-label={`${name} wants to set your clipboard`}>
      <h2>{name} wants to set your clipboard</h2>
      <p>{characters.length === 1 ? '1 character' : `${characters.length} characters`}: <code>{begins}</code></p>
      <div class="card-actions">
        <button class="quiet outlined" onClick={() => void view.answer()}>Ignore</button>
        <button class="primary" onClick={() => void view.answer(text)}>Copy</button>
      </div>
    </div>
  )
}

/** What can be done with what a finger has selected. */
function Selected({ view }: { view: TerminalView }) {
  const end = () => {
    view.terminal.clearSelection()
    view.onSelected(false)
  }
  const take = async () => {
    const text = view.terminal.getSelection()
    if (await copy(text)) toast('info', 'Copied')
    else toast('error', 'The browser did not allow this page to set the clipboard.')
    end()
  }
  return (
    <div class="banner selected" role="toolbar" aria-label="Selection">
      <button class="primary" onClick={() => void take()}>Copy</button>
      <button class="quiet outlined" onClick={() => view.terminal.selectAll()}>All</button>
      <button class="quiet outlined" onClick={end}>Cancel</button>
    </div>
  )
}

function takeOver(view: TerminalView): void {
  view.link.connect({ watch: false, takeover: true })
  view.focus()
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function Banner({ tone, spin, children }: { tone: string; spin?: boolean; children: preact.ComponentChildren }) {
  return <div class="banner" role="status">{spin ? <i class="spinner" /> : <i class={`dot ${tone}`} />}{children}</div>
}

function Choice({ view, title, text, take }: { view: TerminalView; title: string; text: string; take: string }) {
  const first = useRef<HTMLButtonElement>(null)
  useEffect(() => first.current?.focus(), [])
  return (
    <div class="cover">
      <div class="card" role="alertdialog" aria-label={title}>
        <h2>{title}</h2>
        <p>{text}</p>
        <div class="card-actions">
          <button class="quiet outlined" ref={first} onClick={() => { view.link.connect({ watch: true }); view.focus() }}>Watch</button>
          <button class="primary" onClick={() => takeOver(view)}>{take}</button>
        </div>
      </div>
    </div>
  )
}
