import type { ComponentType } from 'preact'
import { useEffect, useReducer, useState } from 'preact/hooks'

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  let Part: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const [failed, setFailed] = useState(false)
    const [, redraw] = useReducer((n: number) => n + 1, 0)
    useEffect(() => {
      if (Part) return
      load().then((part) => { Part = part.default; redraw(undefined as never) }, () => setFailed(true))
    }, [])
    if (Part) return <Part {...props} />
    // After an upgrade of the server the part has another name.
    if (failed) return <div class="empty"><p class="problem" role="alert">This part of the page could not be loaded. Reload the page: the server may be a newer one.</p></div>
    return <div class="empty" role="status"><i class="spinner" /></div>
  }
}
