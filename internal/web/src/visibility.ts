// Whether somebody may be looking at this page.

/** Calls hidden once the page has been hidden for ms, and seen when it is visible again. Returns how to stop that. */
export function onHidden(ms: number, hidden: () => void, seen: () => void): () => void {
  let timer: number | undefined
  const change = () => {
    window.clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = window.setTimeout(hidden, ms)
    else seen()
  }
  if (document.visibilityState === 'hidden') change()
  document.addEventListener('visibilitychange', change)
  return () => {
    window.clearTimeout(timer)
    document.removeEventListener('visibilitychange', change)
  }
}
