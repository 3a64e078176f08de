import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Close } from './icons'

interface Props {
  title: string
  children: ComponentChildren
  onClose: () => void
  /** Class for a dialog that does not look like one, such as the palette. */
  class?: string
  bare?: boolean
}

/** A modal dialog: the browser traps the focus and closes it on Escape. */
export function Dialog({ title, children, onClose, class: extra = '', bare }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = ref.current!
    const before = document.activeElement
    dialog.showModal()
    return () => {
      dialog.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  useHeldFocus(ref)
  return (
    <dialog ref={ref} tabIndex={-1} class={`dialog ${extra}`} aria-label={title}
      onCancel={(e) => { e.preventDefault(); onClose() }}
      onPointerDown={(e) => { if (e.target === ref.current) onClose() }}>
      {bare ? children : (
        <div class="dialog-body">
          <header>
            <h2>{title}</h2>
            <button type="button" class="quiet square" aria-label="Close" onClick={onClose}><Close /></button>
          </header>
          {children}
        </div>
      )}
    </dialog>
  )
}

/**
 * Keeps the focus of a control that is disabled while it works, and gives it back
 * when it is enabled again. Chromium loses Escape where a disabled control has
 * the focus, and after that nothing has it.
 */
function useHeldFocus(dialog: RefObject<HTMLDialogElement | null>): void {
  const from = useRef<HTMLElement | null>(null)
  useLayoutEffect(() => {
    const holder = dialog.current!
    const focused = document.activeElement
    if (focused instanceof HTMLElement && holder.contains(focused) && focused.matches(':disabled')) {
      from.current = focused
      holder.focus()
    } else if (from.current && !from.current.matches(':disabled')) {
      if (focused === holder) from.current.focus()
      from.current = null
    }
  })
}

export function Field({ label, hint, children }: { label: string; hint?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="field">
      <label>
        <span class="label">{label}</span>
        {children}
      </label>
      {hint && <span class="hint">{hint}</span>}
    </div>
  )
}
