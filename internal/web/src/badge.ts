// How many sessions need the user, on the icon of the tab and of the installed
// application. The title of the tab says it too.

const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')

export function showBadge(needs: number): void {
  if (icon) icon.href = needs > 0 ? '/icon-needs.svg' : '/icon.svg'
  if (!('setAppBadge' in navigator)) return
  void (needs > 0 ? navigator.setAppBadge(needs) : navigator.clearAppBadge()).catch(() => {}) // not installed
}
