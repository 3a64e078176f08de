import { useEffect, useState } from 'preact/hooks'

/**
 * What an operation would do, and how it is then done. ask is called again when
 * the typed text or another input changes; run does the operation once.
 */
export function usePlan<T extends object>(ask: () => Promise<T>, typed: string, ...inputs: unknown[]) {
  const [plan, setPlan] = useState<T>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    let mine = true
    setPlan(undefined)
    setError('')
    // Typing a name asks once, at its end.
    const timer = window.setTimeout(() => {
      ask().then((p) => mine && setPlan(p), (problem: Error) => mine && setError(problem.message))
    }, typed ? 400 : 0)
    return () => {
      mine = false
      window.clearTimeout(timer)
    }
  }, [typed, ...inputs])
  const run = async (event: Event, operation: () => Promise<void>) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      await operation()
    } catch (problem) {
      setError((problem as Error).message)
    }
    setBusy(false)
  }
  return { plan, error, busy, run }
}
