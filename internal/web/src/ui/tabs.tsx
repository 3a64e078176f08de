import { useEffect, useRef } from 'preact/hooks'
import type { Session, Workspace } from '../api'
import { go, pathOf } from '../nav'
import { isLive, report } from '../store'
import { stateWords, tone } from '../words'
import { moveSession } from '../order'
import { Again, Close, Down, Plus, Resume, Stop } from './icons'
import { show } from './overlay'
import { canRestart, canResume, restart, resume, showRename } from './session-actions'
import { closeSession, openSession } from './session-dialogs'
import { Unseen } from './unseen'

/** The sessions of a workspace, one a tab, and the ways to a new one. */
export function Tabs({ workspace, sessions, current }: { workspace: Workspace; sessions: Session[]; current?: Session }) {
  const list = useRef<HTMLDivElement>(null)
  const dragged = useRef('')
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current?.id])
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step || !current) return
    const next = sessions[(sessions.indexOf(current) + step + sessions.length) % sessions.length]
    go({ workspace: workspace.label, session: next.name })
    event.preventDefault()
  }
  return (
    <div class="tabs">
      <div class="tablist" role="tablist" aria-label="Sessions" ref={list} onKeyDown={move}>
        {sessions.map((s, i) => (
          <div key={s.id} class="tab" role="presentation" draggable onDblClick={() => showRename(s)}
            onDragStart={(e) => { dragged.current = s.id; e.dataTransfer!.effectAllowed = 'move' }} onDragEnd={() => { dragged.current = '' }}
            onDragOver={(e) => { if (dragged.current) e.preventDefault() }}
            onDrop={(e) => { e.preventDefault(); if (dragged.current) moveSession(sessions, dragged.current, i) }}>
            <a role="tab" aria-selected={s.id === current?.id} tabIndex={s.id === current?.id ? 0 : -1}
              href={pathOf({ workspace: workspace.label, session: s.name })} title={`${s.name} · ${stateWords(s)}`}
              onClick={(e) => { e.preventDefault(); go({ workspace: workspace.label, session: s.name }) }}>
              <i class={`dot ${tone(s)}`} /><span>{s.title || s.name}</span><Unseen sessions={[s]} />
            </a>
          </div>
        ))}
      </div>
      {current && canResume(current) && (
        <button class="quiet square" onClick={() => resume(current)} aria-label={`Resume ${current.name}`} title="Go on with its conversation"><Resume /></button>
      )}
      {current && canRestart(current) && (
        <button class="quiet square" onClick={() => restart(workspace, current)} aria-label={`Restart ${current.name}`} title="Start the same again"><Again /></button>
      )}
      {current && (
        <button class="quiet square end-session" onClick={() => closeSession(current)}
          aria-label={isLive(current) ? `Stop ${current.name}` : `Remove ${current.name}`} title={isLive(current) ? 'Stop…' : 'Remove from the list'}>
          {isLive(current) ? <Stop /> : <Close />}
        </button>
      )}
      <button class="quiet square" aria-label="New shell" title="New shell" onClick={() => void openSession(workspace).catch(report)}><Plus /></button>
      <button class="quiet square slim" aria-label="New session with a command" title="New session with an agent or a command…"
        onClick={() => show({ is: 'new-session', workspace })}><Down /></button>
    </div>
  )
}
