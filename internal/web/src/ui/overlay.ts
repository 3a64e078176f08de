// The one dialog that may be open.

import type { ComponentChild } from 'preact'
import type { Session, Workspace } from '../api'
import { changed } from '../store'

export type Overlay =
  | { is: 'new-workspace'; directory?: string; runtime?: string }
  | { is: 'delete-workspace'; workspace: Workspace }
  | { is: 'new-session'; workspace: Workspace }
  | { is: 'stop-session'; session: Session }
  | { is: 'approval'; id: string }
  | { is: 'help' }
  | { is: 'logins' }
  | { is: 'palette' }
  | { is: 'dialog'; draw: (onClose: () => void) => ComponentChild }

export let overlay: Overlay | undefined

export function show(next: Overlay | undefined): void {
  overlay = next
  changed()
}

export const hide = () => show(undefined)
