import type { ComponentChildren } from 'preact'

function Icon({ children, size = 16 }: { children: ComponentChildren; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor"
      stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {children}
    </svg>
  )
}

export const Plus = () => <Icon><path d="M8 3v10M3 8h10" /></Icon>
export const Close = () => <Icon size={14}><path d="M4 4l8 8M12 4l-8 8" /></Icon>
export const Menu = () => <Icon size={18}><path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" /></Icon>
export const Search = () => <Icon><circle cx="7" cy="7" r="4.2" /><path d="M10.2 10.2L13.5 13.5" /></Icon>
export const Branch = () => (
  <Icon size={13}>
    <circle cx="4.5" cy="3.5" r="1.7" /><circle cx="4.5" cy="12.5" r="1.7" /><circle cx="11.5" cy="5.5" r="1.7" />
    <path d="M4.5 5.2v5.6M11.5 7.2c0 2.6-3.5 2.2-6 3.6" />
  </Icon>
)
export const Trash = () => <Icon><path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v3.8M9.2 7v3.8" /></Icon>
export const Down = () => <Icon size={12}><path d="M4 6l4 4 4-4" /></Icon>
export const Again = () => <Icon size={13}><path d="M12.8 8a4.8 4.8 0 1 1-1.4-3.4M11.6 2.2v2.6H9" /></Icon>
export const Resume = () => <Icon size={13}><path d="M5 3.2v9.6L12.5 8z" /></Icon>
export const Right = () => <Icon size={12}><path d="M6 4l4 4-4 4" /></Icon>
export const More = () => <Icon><path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.2" /></Icon>
export const Diff = () => <Icon size={13}><path d="M8 2.5v6M5 5.5h6M5 12.5h6" /></Icon>
export const Up = () => <Icon size={12}><path d="M4 10l4-4 4 4" /></Icon>
export const Sun = () => (
  <Icon><circle cx="8" cy="8" r="2.8" /><path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1" /></Icon>
)
export const Moon = () => <Icon><path d="M13 9.4A5.4 5.4 0 0 1 6.6 3a5.4 5.4 0 1 0 6.4 6.4z" /></Icon>
export const Auto = () => <Icon><circle cx="8" cy="8" r="5.4" /><path d="M8 2.6v10.8A5.4 5.4 0 0 0 8 2.6z" fill="currentColor" /></Icon>
export const Bell = () => <Icon size={13}><path d="M3.5 11.5h9c-1-1-1.2-2-1.2-4.3a3.3 3.3 0 0 0-6.6 0c0 2.3-.2 3.3-1.2 4.3zM6.8 13.6h2.4" /></Icon>
export const Pin = () => <Icon size={13}><path d="M6 2.5h4l-.5 4 2.5 2.5H4l2.5-2.5zM8 9v4.5" /></Icon>
export const Group = () => <Icon><path d="M2.5 4h11M2.5 8h7M2.5 12h4" /></Icon>
export const Pen = () => <Icon><path d="M3 13l.8-3.2 7-7 2.4 2.4-7 7zM9.5 4.1l2.4 2.4" /></Icon>
export const Keys = () => <Icon><rect x="1.5" y="4" width="13" height="8" rx="1.5" /><path d="M4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 9.5h6" /></Icon>
export const Stop = () => <Icon><rect x="4" y="4" width="8" height="8" rx="1.2" /></Icon>
export const Check = () => <Icon size={14}><path d="M3.5 8.5l3 3 6-7" /></Icon>
export const Copy = () => <Icon size={13}><rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" /></Icon>
export const Logo = () => (
  <svg width="22" height="22" viewBox="0 0 64 64" fill="none" stroke-width="6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <rect class="logo-back" width="64" height="64" rx="15" />
    <path class="logo-mark" d="M15 22l10 10-10 10" /><path class="logo-line" d="M33 43h16" />
  </svg>
)
