/** The page that authorizes a client. */
import type { PageGroup } from '../shared/page-group.ts'
import { consentPage } from './view.ts'

export const consent = {
  pages: [{ name: 'authorization', template: 'aw-oauth-authorization-form.html', view: consentPage }],
} as const satisfies PageGroup
