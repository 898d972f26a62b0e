/** The style sheet of pages with a listing. */
import { styleSheet } from '../shared/assets.ts'

export const listingStyle = styleSheet(
  'listing',
  `.search { display: flex; gap: .5rem; flex: 1 1 16rem; max-width: 30rem; }
.search input[type=search] { flex: 1; min-width: 0; margin: 0; }
.chips ul { list-style: none; margin: 0 0 .75rem; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem; }
.chips a { display: block; border: 1px solid var(--line); border-radius: 99px; background: var(--surface); padding: .2rem .75rem; min-height: 2rem; text-decoration: none; font-size: .9rem; }
.chips a:hover { border-color: var(--edge); }
.chips [aria-current] { background: var(--accent-soft); border-color: var(--accent); color: var(--accent); font-weight: 600; }
.chips .number { color: var(--muted); font-variant-numeric: tabular-nums; }
`,
)
