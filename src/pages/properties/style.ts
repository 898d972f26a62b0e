/** The style sheet of the pages of properties. */
import { styleSheet } from '../shared/assets.ts'

export const propertyStyle = styleSheet(
  'properties',
  `.search { display: flex; gap: .5rem; flex: 1 1 16rem; max-width: 30rem; }
.search input[type=search] { flex: 1; min-width: 0; margin: 0; }
.shell main:has(.properties) { max-width: 72rem; }
.new { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: start; margin-bottom: 1rem; }
.new h2 { margin: .6rem 0 0; }
.new details { margin: 0; padding-block: .35rem; }
.new summary { list-style: none; font-weight: 600; text-decoration: none; }
.new summary::-webkit-details-marker { display: none; }
.new details[open] { flex-basis: 100%; }
.chips ul { list-style: none; margin: 0 0 .75rem; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem; }
.chips a { display: block; border: 1px solid var(--line); border-radius: 99px; background: var(--surface); padding: .2rem .75rem; min-height: 2rem; text-decoration: none; font-size: .9rem; }
.chips a:hover { border-color: var(--edge); }
.chips [aria-current] { background: var(--accent-soft); border-color: var(--accent); color: var(--accent); font-weight: 600; }
.chips .number { color: var(--muted); font-variant-numeric: tabular-nums; }
.properties tbody tr:hover { background: var(--sunken); }
.properties input { width: 1.1rem; height: 1.1rem; margin: .1rem 0 0; }
.properties tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; font-weight: 600; }
.properties td.preview { display: table-cell; max-width: 22rem; }
.items td { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 24rem; }
.items td.item-tools { white-space: nowrap; text-align: end; padding-block: .3rem; }
.items td.item-tools a { margin-inline: 1rem 0; }
.items td.opened { max-width: none; }
.items form { max-width: 40rem; }
.items tbody tr:hover { background: var(--sunken); }
.item :is(form, .fold) { margin: 0; }
.item .line { border-top: 1px solid var(--line); padding-top: .75rem; }
.items .tree li { padding: 0; }
.item .line > div { flex: 0 1 11rem; }
.item .line .field { margin: 0; }
.item .line input { margin: 0; }
.item .line .icon { vertical-align: -.15em; }
@media (max-width: 44rem) {
  .properties .preview { display: none !important; }
  .properties :is(th, td) { padding-inline: .45rem; }
  .properties tbody th { min-width: 5rem; }
}
`,
)
