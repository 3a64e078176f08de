import type { Session } from '../api'
import { unseenWords } from '../words'
import { Bell } from './icons'

/** A mark of the bell, or of the output, that nobody has seen yet. */
export function Unseen({ sessions }: { sessions: Session[] }) {
  const words = sessions.map(unseenWords)
  const word = (['Bell', 'New output'] as const).find((w) => words.includes(w))
  if (!word) return null
  return <span class="unseen" role="img" aria-label={word} title={word}>{word === 'Bell' && <Bell />}</span>
}
