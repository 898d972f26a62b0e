/** The style sheet of the overview: the access map, the chart of the activity and the first steps. */
import { styleSheet } from '../shared/assets.ts'

/** Dims the other ribbons of the access map while a person (`p0`) or a place (`t0`) is hovered or has the focus. */
const dimmed = ['p', 't']
  .flatMap((side) => Array.from({ length: 8 }, (_, index) => `.${side}${index}`))
  .map((node) => `.map:has(${node}:hover, ${node}:focus-visible) path:not(${node})`)
  .join(',\n')

export const overviewStyle = styleSheet(
  'overview',
  `.checklist { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
.checklist h3, .checklist p { margin: 0; }
.checklist li { border-inline-start: 3px solid var(--edge); padding-inline-start: .8rem; }
.checklist .done { display: flex; gap: .5rem; align-items: center; color: var(--good); border-color: var(--good); }
.map-scroll { overflow-x: auto; margin: 0 -.25rem .75rem; padding: .25rem; }
.map { display: block; width: 100%; min-width: 36rem; }
.map > text { font-size: 11px; fill: var(--muted); }
.map :where(a, g:not(.avatar)) > text { font-size: 10.5px; fill: var(--muted); clip-path: url(#map-box); }
.map .name { font-size: 12.5px; font-weight: 600; fill: var(--ink); }
.map :where(a, g:not(.avatar)) > rect { rx: 6px; fill: var(--surface); stroke: var(--line); }
.map a:is(:hover, :focus-visible) > rect { stroke: var(--accent); stroke-width: 2; }
.map a:focus-visible { outline: 0; }
.map path { pointer-events: none; fill: none; stroke: var(--accent); stroke-opacity: .55; transition: opacity .15s; }
.map .view { stroke-width: 1.2; }
.map :is(.edit, .run) { stroke-width: 3.2; }
.map .part { stroke-width: 1.6; stroke-dasharray: .1 5; stroke-linecap: round; }
.map .ask { stroke: var(--warn); stroke-opacity: 1; stroke-width: 1.8; stroke-dasharray: 6 4; }
${dimmed} { opacity: .1; }
.bars { display: block; width: 100%; fill: var(--accent); fill-opacity: .7; }
.bars .denied { fill: var(--danger); fill-opacity: 1; }
.bars path { stroke: var(--line); }
.ends { display: flex; justify-content: space-between; font-size: .8rem; color: var(--muted); margin: .15rem 0 .5rem; }
@media (prefers-reduced-motion: reduce) { .map path { transition: none; } }
@media (forced-colors: active) {
  .map :where(a, g:not(.avatar)) > rect { fill: Canvas; stroke: CanvasText; }
  .map :where(:not(.avatar)) > text { fill: CanvasText; }
  .map path { stroke: CanvasText; stroke-opacity: 1; }
  .map a:is(:hover, :focus-visible) > rect { stroke: Highlight; }
  .bars rect { fill: CanvasText; fill-opacity: 1; }
  .bars .denied { fill: Mark; stroke: CanvasText; }
}
`,
)
