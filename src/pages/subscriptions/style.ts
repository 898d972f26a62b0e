/** The style sheet of the pages of subscriptions. */
import { styleSheet } from '../shared/assets.ts'

export const subscriptionStyle = styleSheet(
  'subscriptions',
  `.rail { list-style: none; margin: 0; padding: 0; }
.rail li { display: grid; grid-template-columns: 1.5rem minmax(0, 1fr) auto; gap: 0 .75rem; padding-bottom: 1.1rem; position: relative; }
.rail li:not(:last-child)::before { content: ""; position: absolute; inset-block: 1.6rem .1rem; inset-inline-start: .7rem; border-inline-start: 1px solid var(--line); }
.rail p { margin: 0; overflow-wrap: anywhere; }
.rail .dot { display: grid; place-items: center; width: 1.45rem; height: 1.45rem; border-radius: 99px; background: var(--sunken); color: var(--muted); }
.rail .dot .icon { width: .85rem; height: .85rem; margin: 0; }
.rail .delivered .dot { background: var(--good-soft); color: var(--good); }
.rail .late .dot { background: var(--warn-soft); color: var(--warn); }
.rail .failed .dot { background: var(--danger-soft); color: var(--danger); }
.rail .when { color: var(--muted); font-size: .85rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.ticks { display: flex; gap: 3px; height: 1.6rem; margin: 0 0 .4rem; }
.ticks span { flex: 1; max-width: .6rem; border-radius: 2px; background: var(--line); }
.ticks .delivered { background: var(--good); }
.ticks .late { background: var(--warn); }
.ticks .failed { background: var(--danger); }
@media (forced-colors: active) { .ticks span { border: 1px solid; } .ticks .failed { background: CanvasText; } }
@media (min-width: 68rem) {
  .delivery { display: grid; grid-template-columns: minmax(0, 2fr) minmax(16rem, 1fr); gap: 1rem; align-items: start; }
}
`,
)
