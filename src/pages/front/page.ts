/** The front page. */
import type { PageGroup } from '../shared/page-group.ts'
import { factoryPage } from './front-page.ts'
import { createdPage } from './created.ts'

export const front = {
  pages: [
    { name: 'factory', template: 'aw-root-factory.html', view: factoryPage },
    { name: 'created', template: 'aw-root-created.html', view: createdPage },
  ],
} as const satisfies PageGroup
