/** The style sheet of the pages of connections. */
import { styleSheet } from '../shared/assets.ts'

export const connectionStyle = styleSheet(
  'connections',
  `.columns { display: grid; gap: 0 1rem; align-items: start; }
.columns > div { min-width: 0; }
@media (min-width: 75rem) { .columns { grid-template-columns: minmax(0, 1fr) 20rem; } .shell main:has(.columns) { max-width: 78rem; } }
.part { border-top: 1px solid var(--line); padding: .4rem 0; }
.part:last-of-type { border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
.answer.yes { border-color: var(--good); }
.answer.no { border-color: var(--danger); }
.endings .opens { margin-inline-end: .5rem; }
.access tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; font-weight: 600; }
.access select { width: auto; min-height: 2rem; padding: .15rem .4rem; margin: 0; }
.access tbody :is(th, td) { vertical-align: middle; }
.access .yes { color: var(--good); }
.access :is(.ask, .add) { color: var(--warn); }
.access .no { color: var(--muted); }
.who { display: flex; align-items: center; gap: .6rem; }
.connections .kind { display: block; font-weight: 400; }
.connections tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 11rem; font-weight: 600; }
.connections tbody :is(th, td) { vertical-align: middle; }
.connections tbody tr:hover { background: var(--sunken); }
#invitation-link { overflow-wrap: anywhere; }
.qr { display: block; width: 100%; max-width: 15rem; margin-top: 1rem; border-radius: .5rem; }
.stage { padding-bottom: .5rem; }
.picture { display: block; width: 100%; max-width: 27rem; margin: 0 auto; overflow: visible; }
.picture text { font-size: 15px; fill: var(--ink); }
.picture .standing { font-size: 13px; fill: var(--muted); stroke: none; }
.picture .name { font-weight: 600; }
.picture a:hover .name { text-decoration: underline; }
.picture .tie { stroke: var(--muted); stroke-width: 1.5; }
.picture .tie.mutual { stroke: var(--good); stroke-width: 2.5; }
.picture .tie.asked, .picture .tie.waiting { stroke-dasharray: 2 6; stroke-linecap: round; }
.picture .tie.approved-here { stroke-dasharray: 9 5; }
.picture .node { fill: var(--surface); stroke: var(--ink); stroke-width: 2; }
.picture .node.mutual { stroke: var(--good); }
.picture .node.asked { stroke-dasharray: 4 4; }
.picture .node.waiting { fill: var(--accent); stroke: var(--accent); }
.picture .mark { fill: var(--accent-ink); font-weight: 700; }
.picture .core { fill: var(--good); }
.picture .core:not(.mutual) { fill: var(--muted); }
.picture .you { fill: var(--ink); stroke: var(--ink); }
.picture .you-label { fill: var(--surface); font-weight: 700; }
`,
)
