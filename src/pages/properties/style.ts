/** The style sheet of the pages of properties. */
import { styleSheet } from '../shared/assets.ts'

export const propertyStyle = styleSheet(
  'properties',
  `.shell main:has(.properties) { max-width: 72rem; }
.new { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: start; margin-bottom: 1rem; }
.new h2 { margin: .6rem 0 0; }
.new details { margin: 0; padding-block: .35rem; }
.new summary { list-style: none; font-weight: 600; text-decoration: none; }
.new summary::-webkit-details-marker { display: none; }
.new details[open] { flex-basis: 100%; }
.segments { display: flex; flex-wrap: wrap; gap: 0 1.1rem; margin-bottom: .6rem; }
.typed:has([value=number]:checked, [value=boolean]:checked) .as-text, .typed:not(:has([value=number]:checked)) .as-number, .typed:not(:has([value=boolean]:checked)) .as-boolean { display: none; }
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
