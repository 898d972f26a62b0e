/** `/<actor>/www/apps`: sessions and connected apps on a page. */
import { type AppPageDeps, changeApps, showApps } from './apps-page.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'

export function appPageRoutes(deps: AppPageDeps): readonly Route[] {
  return [
    {
      id: 'appsPage',
      method: 'GET',
      path: '/:actor/www/apps',
      access: 'www',
      summary: 'Where the owner is signed in, and which programs act for them',
      responses: pageResponses,
      handler: (exchange) => showApps(deps, exchange),
    },
    {
      id: 'appsForm',
      method: 'POST',
      path: '/:actor/www/apps',
      access: 'www',
      summary: 'Ends a session (`end_session`), all others (`end_other_sessions`), or disconnects an app (`revoke`)',
      request: formSchema('action', 'session', 'peerid'),
      responses: formResponses,
      handler: (exchange) => changeApps(deps, exchange),
    },
  ]
}
