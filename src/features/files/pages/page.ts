/** The page of files. */
import type { PageGroup } from '../../../pages/shared/page-group.ts'
import { filesPage } from './view.ts'

export const filePages = {
  section: { path: '/files', label: 'files', icon: 'files' },
  after: '/properties',
  pages: [{ name: 'files', template: 'aw-actor-www-files.html', view: filesPage }],
} as const satisfies PageGroup
