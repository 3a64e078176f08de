// What several suites do with pages.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', reducedMotion: 'reduce' }
export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'dark', reducedMotion: 'reduce' }

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds on a page that is critical or serious, one line for each element. */
export async function findings(page) {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] })
    return violations.filter((v) => ['critical', 'serious'].includes(v.impact))
      .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} (${n.any[0]?.message ?? v.help})`))
  })
}

/** A program that shows what an agent shows, by the lines that it reads. */
export const fakeAgent = `#!/bin/sh
while read -r line; do
	case $line in
	work) printf '\\033]0;\\342\\240\\202 Fix\\007' ;;
	ask) printf ' Do you want to proceed?\\n \\342\\235\\257 1. Yes\\n   2. No, and tell it why\\n' ;;
	idle) printf '\\033[2J\\033[H\\033]0;\\342\\234\\263 Fix\\007╭───╮\\n│ > │\\n╰───╯\\n' ;;
	*) printf 'got [%s]\\n' "$line" ;;
	esac
done
`
