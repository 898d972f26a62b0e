/** The pages that authorize a client, and find one by the code of its device. */
import type { PageGroup } from '../shared/page-group.ts'
import { devicePage } from './device-view.ts'
import { consentPage } from './view.ts'

export const consent = {
  pages: [
    { name: 'authorization', template: 'aw-oauth-authorization-form.html', view: consentPage },
    { name: 'device', template: 'aw-oauth-device.html', view: devicePage },
  ],
} as const satisfies PageGroup
