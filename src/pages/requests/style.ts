/** The style sheet of the inbox and of the page of a call. */
import { styleSheet } from '../shared/assets.ts'

export const requestStyle = styleSheet(
  'requests',
  `.inbox > li { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: center; }
.inbox > li > div { flex: 1 1 14rem; min-width: 0; }
.inbox > li > .icon { width: 2rem; height: 1.25rem; color: var(--warn); }
.facing { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; max-width: 28rem; }
.facing form, .facing button { width: 100%; margin: 0; }
.facing button { min-height: 2.75rem; }
.arguments { margin: 0 0 1rem; }
`,
)
