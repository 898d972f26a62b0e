/** The style sheet, the script and the logo as strings, so that a build copies no files. */
import { liveScript } from '../live/live-script.ts'
import { style } from './style.ts'

export interface Asset {
  readonly type: string
  readonly text: string
}

const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#7a2e3a"/><g fill="#fff"><circle cx="16" cy="10" r="3.6"/><circle cx="8.5" cy="20.5" r="3.6"/><circle cx="23.5" cy="20.5" r="3.6"/></g><path d="M14.3 13.2 10.3 17.4M17.7 13.2l4 4.2M12.4 20.7h7.2" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>
`

export const assets: ReadonlyMap<string, Asset> = new Map([
  ['troupe.css', { type: 'text/css; charset=utf-8', text: style }],
  ['troupe.js', { type: 'text/javascript; charset=utf-8', text: liveScript }],
  ['troupe.svg', { type: 'image/svg+xml', text: mark }],
])
