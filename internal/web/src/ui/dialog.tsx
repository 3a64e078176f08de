import type { ComponentChildren } from 'preact'
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
  return (
    <dialog ref={ref} class={`dialog ${extra}`} aria-label={title}
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
