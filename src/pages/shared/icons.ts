/** The icons of the pages: outlines on a grid of 16, drawn in the color of the text beside them. */
import { html, raw } from 'hono/html'
import type { Html } from './values.ts'

const outlines = {
  activity: 'M1.5 8.5h3l2-6 3.4 11 2-5h2.6',
  apps: 'M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM11.5 9.5v4M9.5 11.5h4',
  ascending: 'm4 10 4-4 4 4',
  check: 'm3 8.6 3.2 3.2L13 4.6',
  clock: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 4.6V8l2.4 1.6',
  cross: 'm4 4 8 8m0-8-8 8',
  descending: 'm4 6 4 4 4-4',
  devices: 'M1.8 2.8h12.4v8H1.8zM5.4 13.6h5.2M8 10.8v2.8',
  danger: 'M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3zM8 5v3.6M8 11h.01',
  download: 'M8 2.4v7.4M4.8 6.8 8 10l3.2-3.2M2.6 13.4h10.8',
  eye: 'M1.4 8S3.8 3.6 8 3.6 14.6 8 14.6 8 12.2 12.4 8 12.4 1.4 8 1.4 8M10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0',
  files: 'M9 1.8H4.2v12.4h7.6V4.6zV4.6h2.8',
  history: 'M2.6 5.4A6 6 0 1 1 2 8M2.2 2.4v3h3M8 4.8V8l2.2 1.4',
  home: 'M2.2 7.4 8 2.4l5.8 5M4 6v7.4h8V6M6.6 13.4V9.8h2.8v3.6',
  info: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 7.4v3.4M8 5.2h.01',
  key: 'M9.4 5.4a3.2 3.2 0 1 1-6.4 0 3.2 3.2 0 0 1 6.4 0M8.4 7.8l5.2 5.2M11.4 10.8l1.6-1.6',
  link: 'M6.6 9.4a2.8 2.8 0 0 0 4 0l2.2-2.2a2.8 2.8 0 0 0-4-4L7.6 4.4M9.4 6.6a2.8 2.8 0 0 0-4 0L3.2 8.8a2.8 2.8 0 0 0 4 4l1.2-1.2',
  lock: 'M3.4 7.2h9.2v6.4H3.4zM5.4 7.2V5a2.6 2.6 0 0 1 5.2 0v2.2',
  people:
    'M8.2 5a2.6 2.6 0 1 1-5.2 0 2.6 2.6 0 0 1 5.2 0M1.2 13.6c0-2.8 1.9-4.4 4.4-4.4s4.4 1.6 4.4 4.4M10.6 2.6a2.6 2.6 0 0 1 0 4.8M12.2 9.6c1.6.6 2.6 2 2.6 4',
  pencil: 'M2.6 13.4l.7-3L10.8 3l2.2 2.2-7.5 7.5zM9.2 4.6l2.2 2.2',
  plus: 'M8 3v10M3 8h10',
  properties:
    'M13.4 4c0 1.2-2.4 2.2-5.4 2.2S2.6 5.2 2.6 4 5 1.8 8 1.8s5.4 1 5.4 2.2zv8c0 1.2-2.4 2.2-5.4 2.2S2.6 13.2 2.6 12V4m10.8 4c0 1.2-2.4 2.2-5.4 2.2S2.6 9.2 2.6 8',
  requests: 'M1.8 9h3.6l1.2 2h2.8l1.2-2h3.6M1.8 9 4 2.8h8L14.2 9v4.4H1.8z',
  search: 'M11.4 7a4.4 4.4 0 1 1-8.8 0 4.4 4.4 0 0 1 8.8 0M10.2 10.2l3.4 3.4',
  settings: 'M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M12 4.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0M8 11.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0',
  signOut: 'M6.4 2.4H2.6v11.2h3.8M10.4 4.8 13.6 8l-3.2 3.2M13.2 8H6.2',
  subscriptions: 'M13.4 6.4A5.6 5.6 0 0 0 3 5M2.6 9.6A5.6 5.6 0 0 0 13 11M3 2v3h3M13 14v-3h-3',
  trash: 'M2.8 4.4h10.4M6 4.4V2.4h4v2M4.2 4.4l.6 9.2h6.4l.6-9.2M6.8 7v4M9.2 7v4',
  undo: 'M2.6 6.4h7a3.6 3.6 0 0 1 0 7.2H6M5.6 3.4l-3 3 3 3',
  warning: 'M8 2 14.8 13.8H1.2zM8 6.4v3.4M8 11.8h.01',
} as const satisfies Record<string, string>

export type IconName = keyof typeof outlines

/** Renders an icon. It never carries the meaning alone: words stand beside it, and screen readers skip it. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${raw(outlines[name])}"/></svg>`
}
