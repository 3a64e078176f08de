// What this browser remembers. Nothing here is secret, and nothing is needed.

interface Prefs {
  theme: 'system' | 'dark' | 'light'
  fontSize: number
  copyOnSelect: boolean
  screenReader: boolean
  /** Tell by a notification of the desktop when an agent needs the user. */
  notify: boolean
  /** Tell also while no page is open, by Web Push; and whether with names and reasons. */
  push: boolean
  pushContent: boolean
  /** How the sidebar groups what it lists. */
  grouping: 'need' | 'repository'
  /** Workspaces, by id. */
  pinned: string[]
  /** Sections of the lists that are folded, by their keys. */
  collapsed: string[]
  directories: string[]
}

const key = 'middleman.prefs'
const defaults: Prefs = {
  theme: 'system', fontSize: 13, copyOnSelect: true, screenReader: false, notify: false, push: false, pushContent: false,
  grouping: 'need', pinned: [], collapsed: [], directories: [],
}
const listeners = new Set<() => void>()

export let prefs: Prefs = load()

function load(): Prefs {
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Prefs>) }
  } catch {
    return { ...defaults } // storage is refused or holds something else
  }
}

export function setPrefs(change: Partial<Prefs>): void {
  prefs = { ...prefs, ...change }
  try {
    localStorage.setItem(key, JSON.stringify(prefs))
  } catch {
    // Storage is refused: the choice lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

/** Calls f after each change, and when the system goes dark or light. */
export function onPrefs(f: () => void): () => void {
  listeners.add(f)
  return () => void listeners.delete(f)
}

const systemDark = window.matchMedia('(prefers-color-scheme: dark)')
systemDark.addEventListener('change', () => {
  for (const listener of listeners) listener()
})

export function isDark(): boolean {
  return prefs.theme === 'system' ? systemDark.matches : prefs.theme === 'dark'
}

export function rememberDirectory(directory: string): void {
  setPrefs({ directories: [directory, ...prefs.directories.filter((d) => d !== directory)].slice(0, 8) })
}
