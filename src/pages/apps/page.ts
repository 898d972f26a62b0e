/** Connected apps and sessions. */
import type { PageGroup } from '../shared/page-group.ts'
import { appsPage } from './view.ts'
import { changeApps } from './apps-forms.ts'
import { type AppPageDeps, showApps } from './apps-page.ts'
import { newKeyFields } from './new-key.ts'
import { pageForm } from '../../http/dispatch/request-body.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, pageResponses } from '../../http/dispatch/schemas.ts'

function appPageRoutes(deps: AppPageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'appsPage',
      method: 'GET',
      path: '/:actor/www/apps',
      access: 'www',
      summary: 'Where the owner is signed in, and which programs act for them',
      responses: pageResponses,
      handler: (exchange) => showApps(deps, exchange),
    }),
    defineRoute({
      id: 'appsForm',
      method: 'POST',
      path: '/:actor/www/apps',
      access: 'www',
      freshSignIn: 'some',
      summary:
        'Ends a session (`end_session`) or all others (`end_other_sessions`). Disconnects an app (`revoke`), or pauses or resumes an app or a key (`pause`, `resume` with `peerid`). Creates a key (`create_key`) or revokes one (`revoke_key`)',
      request: pageForm('action', 'session', 'peerid', 'key', ...newKeyFields),
      responses: {
        200: { text: 'The page with the new key, which no later response contains', type: 'text/html' },
        ...formResponses,
      },
      handler: (exchange) => changeApps(deps, exchange),
    }),
  ]
}

export const apps = {
  section: { path: '/apps', label: 'apps', icon: 'apps' },
  pages: [{ name: 'apps', template: 'aw-actor-www-apps.html', view: appsPage }],
  routes: appPageRoutes,
} as const satisfies PageGroup
