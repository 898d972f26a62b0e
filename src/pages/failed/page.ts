/** Error pages. */
import type { PageGroup } from '../shared/page-group.ts'
import { failedPage } from './view.ts'

export const failed = {
  pages: [{ name: 'failed', template: 'aw-root-failed.html', view: failedPage }],
} as const satisfies PageGroup
