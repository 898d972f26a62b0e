/** The reference of the API. */
import type { PageGroup } from '../shared/page-group.ts'
import { referenceStyle } from './style.ts'
import { referencePage } from './view.ts'

export const reference = {
  pages: [{ name: 'reference', template: 'aw-root-reference.html', view: referencePage }],
  styles: [referenceStyle],
} as const satisfies PageGroup
