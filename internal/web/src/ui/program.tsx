import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Level, NewSession, Profile } from '../api'
import { nameFor, toArgv, visible } from '../words'
import { Field } from './dialog'

/** What a dialog starts a session with: a profile, or a command; neither is the user’s shell. */
export interface Program {
  profile: string
  command: string
  prompt: string
  /** Empty leaves the level to the server. */
  sandbox: Level | ''
}

export const shell: Program = { profile: '', command: '', prompt: '', sandbox: '' }

/** The request for a session with it; names that are taken are not given to it. */
export function sessionOf({ profile, command, prompt, sandbox }: Program, taken: string[]): NewSession {
  if (profile) return { profile, prompt: prompt.trim() ? prompt : undefined, sandbox: sandbox || undefined }
  const line = command.trim()
  return line ? { name: nameFor(line, taken), command: toArgv(line) } : {}
}

const levels: { level: Level; text: string }[] = [
  { level: 'none', text: 'It may do what you may do.' },
  { level: 'workspace', text: 'It writes to its workspace and private directories alone, and reads no credentials.' },
  { level: 'strict', text: 'As with workspace, and it has no network.' },
]

interface Props {
  /** Where profiles are listed: of a workspace, or of a machine. */
  from: string
  program: Program
  onChange: (program: Program) => void
  commandHint: string
  autofocus?: boolean
}

/** The fields that choose a program. */
export function ProgramFields({ from, program, onChange, commandHint, autofocus }: Props) {
  const [profiles, setProfiles] = useState<Profile[]>([])
  const [problem, setProblem] = useState('')
  const set = (part: Partial<Program>) => onChange({ ...program, ...part })
  useEffect(() => {
    let left = false
    setProfiles([])
    setProblem('')
    api.listProfiles(from).then((list) => left || setProfiles(list), (error: Error) => left || setProblem(error.message))
    return () => { left = true }
  }, [from])
  const choose = (name: string) => {
    const next = profiles.find((p) => p.name === name)
    set({ profile: name, sandbox: '', prompt: next && !next.takes_prompt ? '' : program.prompt })
  }
  const chosen = profiles.find((p) => p.name === program.profile)
  return (
    <>
      <Field label="Program" hint={problem && `Agents cannot be listed: ${problem}`}>
        <select name="program" value={program.profile} onChange={(e) => choose(e.currentTarget.value)}>
          <option value="">Shell, or a command</option>
          {profiles.map((p) => <option key={p.name} value={p.name} disabled={!!p.problem}>{visible(titleOf(p))}</option>)}
        </select>
      </Field>
      {chosen ? <AgentFields profile={chosen} program={program} set={set} /> : (
        <Field label="Command" hint={commandHint}>
          <input name="command" class="mono" autofocus={autofocus} placeholder="your shell" value={program.command} autocomplete="off"
            spellcheck={false} onInput={(e) => set({ command: e.currentTarget.value })} />
        </Field>
      )}
    </>
  )
}

function titleOf(p: Profile): string {
  const title = p.program && p.program !== p.name ? `${p.name}: ${p.program}` : p.name
  return p.problem ? `${title} (${p.problem})` : title
}

function AgentFields({ profile, program, set }: { profile: Profile; program: Program; set: (part: Partial<Program>) => void }) {
  const level = program.sandbox || profile.sandbox
  return (
    <>
      {profile.takes_prompt && (
        <Field label="First prompt">
          <textarea name="prompt" rows={4} placeholder="what it begins with; may be empty" value={program.prompt}
            onInput={(e) => set({ prompt: e.currentTarget.value })} />
        </Field>
      )}
      <Field label="Sandbox" hint={levels.find((l) => l.level === level)?.text}>
        <select name="sandbox" value={program.sandbox} onChange={(e) => set({ sandbox: e.currentTarget.value as Program['sandbox'] })}>
          <option value="">Default: {profile.sandbox}</option>
          {levels.map((l) => <option key={l.level} value={l.level}>{l.level}</option>)}
        </select>
      </Field>
    </>
  )
}
