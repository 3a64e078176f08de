import { go } from '../nav'
import { mark, putWorkspace, toast } from '../store'
import { plural, visible } from '../words'
import * as api from './api'
import type { Deleted } from './api'

/** What a deleted workspace was called in lists and links. */
export const labelOf = (w: Deleted) => (w.runtime ? w.label : w.name)

/** Brings a deleted workspace back, shows it, and says what is not as it was. */
export async function restoreWorkspace(gone: Deleted): Promise<void> {
  const asked = mark()
  const { workspace, warnings, sessions } = await api.restore(gone.id)
  putWorkspace(workspace, asked)
  go({ workspace: workspace.label })
  toast('info', `${visible(workspace.label)} is restored${sessions > 0 ? `, with the transcripts of ${plural(sessions, 'session')}` : ''}.`)
  for (const warning of warnings ?? []) toast('error', visible(warning))
}
