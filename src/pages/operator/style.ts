/** The style sheet of the pages of operators. */
import { styleSheet } from '../shared/assets.ts'

export const operatorStyle = styleSheet(
  'operator',
  `.shell main:has(.operated) { max-width: 78rem; }
.operated td, .operated th[scope=row] { vertical-align: top; }
.operated td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
.operated th strong { display: block; font-variant-numeric: tabular-nums; }
.operated th small { display: block; color: var(--muted); font-weight: 400; overflow-wrap: anywhere; }
.attention { border-color: var(--warn); background: var(--warn-soft); }
.attention ul { margin: 0; padding-inline-start: 1.2rem; }
.search { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; margin-bottom: 1rem; }
.search .field { flex: 1 1 18rem; }
.search :is(input, button) { margin-bottom: 0; }
`,
)
