/** Programs with a password; the page of connected apps links here. */
import type { PageGroup } from '../shared/page-group.ts'
import { passwordAccessPageRoutes } from './routes.ts'
import { passwordAccessPage } from './view.ts'

export const passwordAccess = {
  pages: [{ name: 'passwordAccess', template: 'aw-actor-www-password-access.html', view: passwordAccessPage }],
  routes: passwordAccessPageRoutes,
} as const satisfies PageGroup
