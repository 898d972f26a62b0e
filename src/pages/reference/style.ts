/** The style sheet of the reference of the API. */
import { styleSheet } from '../shared/assets.ts'

export const referenceStyle = styleSheet(
  'reference',
  `.narrow:has(.operation) { max-width: 60rem; }
.chips ul { list-style: none; margin: 0 0 1.25rem; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem; }
.chips a { display: block; border: 1px solid var(--line); border-radius: 99px; background: var(--surface); padding: .2rem .75rem; min-height: 2rem; text-decoration: none; font-size: .9rem; }
.narrow:has(.operation) h2 { margin-top: 1.5rem; }
.operation { margin-bottom: .5rem; }
.operation > summary { width: auto; text-decoration: none; overflow-wrap: anywhere; }
.operation h3 { margin-top: 1rem; }
.operation dd code, .operation dt code { display: inline; padding: 0; background: none; user-select: auto; }
.operation pre { max-height: 30rem; overflow: auto; font-size: .8rem; user-select: text; }
.method { display: inline-block; min-width: 4.2rem; font-size: .8rem; font-weight: 700; color: var(--accent); }
.about { color: var(--muted); font-size: .9rem; }
`,
)
